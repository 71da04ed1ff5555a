// Number, name, type and default of each column, and of a table of nodes whether it is the key.
CALL table_info('%label%') RETURN *
