COPY %label%(%[`%column%`]%) FROM $rows
