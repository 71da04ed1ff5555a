COPY (MATCH (n:`%label%`) RETURN %[n.`%column%`]%) TO '%file%'
