// How many nodes of files are not yet at rest. A parsed part waits for nothing but its file, which may be in error.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection)
WHERE n.projectId = $project AND (n._state IN ['pending', 'parsing', 'linking', 'linked', 'embedding']
  OR (n._state = 'parsed' AND labels(n)[0] IN ['File', 'Directory']))
RETURN count(*) AS count
