// Whether the database has anything in it, for the project or for somebody else; no row where it is empty.
CALL show_tables() RETURN $project AS project, count(*) AS count
