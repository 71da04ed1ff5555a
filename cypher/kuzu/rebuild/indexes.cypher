// Those that a person made; Ladybug also lists the keys.
CALL show_indexes() RETURN *
