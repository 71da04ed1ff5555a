// What files have with them, of those that have it: for whoever cannot read them where they are.
MATCH (f:File)
WHERE f.projectId = $project AND f.uuid IN $uuids AND f._content IS NOT NULL
RETURN f.uuid AS uuid, f._content AS content
