// How many nodes of a table say of which project they are. Reads only.
MATCH (n:%label%)
RETURN n.projectId AS project, count(*) AS count
