// Files that are in the graph without their text, and why.
MATCH (f:File)
WHERE f.projectId = $project AND f._state = 'skip' AND f._errorMessage IS NOT NULL
RETURN f.root AS root, f.path AS path, f._errorMessage AS reason
ORDER BY root, path
