COPY `%label%`(%[`%column%`]%) FROM '%file%'
