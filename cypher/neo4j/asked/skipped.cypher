// How many files of some roots, or with '' of all, are in the graph without their text, by reason.
MATCH (f:File)
WHERE f.projectId = $project AND f._state = 'skip' AND f._errorMessage IS NOT NULL
  AND ('' IN $roots OR f.root IN $roots)
RETURN f._errorMessage AS reason, count(*) AS count
ORDER BY count DESC, reason
