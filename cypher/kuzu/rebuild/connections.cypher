// The labels that a relationship goes between, and their keys.
CALL show_connection('%type%') RETURN *
