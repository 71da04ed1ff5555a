COPY %type% FROM $rows (from='%source%', to='%target%')
