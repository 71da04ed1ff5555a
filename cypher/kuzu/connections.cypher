CALL show_connection('%type%') RETURN *
