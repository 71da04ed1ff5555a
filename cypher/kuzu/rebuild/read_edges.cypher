COPY `%type%` FROM '%file%' (from='%source%', to='%target%')
