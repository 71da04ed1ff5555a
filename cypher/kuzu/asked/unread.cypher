// How many titles are linked to and were not read, by reason.
MATCH (a:Article)
WHERE a.projectId = $project AND a._state = 'skip' AND a._redirect IS NULL
RETURN a._errorMessage AS reason, count(*) AS count
ORDER BY count DESC, reason
