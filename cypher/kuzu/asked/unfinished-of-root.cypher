// One file of a root that is not yet at rest, with all that is in it, if there is any.
MATCH (f:File)
WHERE f.projectId = $project AND f._state IN ['pending', 'parsing', 'parsed', 'linking', 'linked', 'embedding'] AND f.root = $root
RETURN f.uuid AS uuid LIMIT 1
