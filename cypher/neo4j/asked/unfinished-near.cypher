// How much of files is left to do but to read, where they are, what waits in these roots. Folders follow by themselves.
MATCH (n:File|MarkdownSection|Scope|TextSection|Partition)
WHERE n.projectId = $project AND (n._state IN ['pending', 'parsing', 'linking', 'linked', 'embedding']
  OR (n._state = 'parsed' AND labels(n)[0] = 'File'))
  AND NOT (labels(n)[0] IN ['File', 'Partition'] AND n._state = 'pending' AND n.root IN $roots AND n._content IS NULL)
RETURN count(*) AS count
