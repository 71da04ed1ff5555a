CALL table_info('%label%') RETURN name, type
