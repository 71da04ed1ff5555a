CALL show_sequences() RETURN name
