CALL show_tables() RETURN name, type
