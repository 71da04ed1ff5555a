// Titles that articles link to and that were not read, the most linked first, and why.
MATCH (a:Article)<-[l:LINKS_TO]-(s:Article)
WHERE a.projectId = $project AND a._state = 'skip' AND a._redirect IS NULL
RETURN a.title AS title, count(s) AS articles, a._errorMessage AS reason
ORDER BY articles DESC, title LIMIT 100
