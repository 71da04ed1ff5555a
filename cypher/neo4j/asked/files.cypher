// What is known of the files of a root with paths in a stretch of it, in pages by uuid.
MATCH (f:File)
WHERE f.projectId = $project AND f.root = $root AND f.uuid > $after
  AND f.path >= $since AND ($until = '' OR f.path < $until)
RETURN f.uuid AS uuid, f.path AS path, f._state AS state, f.size AS size, f._modifiedAt AS modified, f._contentHash AS hash,
  f._errorType AS errorType, f._errorMessage AS reason, f._detectedAt AS detected
ORDER BY uuid LIMIT $limit
