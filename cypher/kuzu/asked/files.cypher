// What is known of the files of a root, in pages by uuid.
MATCH (f:File)
WHERE f.projectId = $project AND f.root = $root AND f.uuid > $after
RETURN f.uuid AS uuid, f.path AS path, f._state AS state, f.size AS size, f._modifiedAt AS modified, f._contentHash AS hash,
  f._errorType AS errorType
ORDER BY uuid LIMIT $limit
