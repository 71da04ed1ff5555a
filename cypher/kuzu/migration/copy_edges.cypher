COPY %type%(%[`%column%`]%) FROM $rows (from='%source%', to='%target%')
