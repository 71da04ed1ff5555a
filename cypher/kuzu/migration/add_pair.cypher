ALTER TABLE %type% ADD IF NOT EXISTS FROM %source% TO %target%
