// How many nodes of files, and texts that a migration brought, are not yet at rest. A parsed part waits for nothing but its
// file, which may be in error; what a migration brought is sent on when a job begins, so it waits for its vector at most.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Adopted)
WHERE n.projectId = $project AND (n._state IN ['linked', 'embedding']
  OR (n._state IN ['pending', 'parsing', 'linking'] AND label(n) IN ['File', 'Directory', 'MarkdownSection', 'Scope', 'TextSection'])
  OR (n._state = 'parsed' AND label(n) IN ['File', 'Directory']))
RETURN count(*) AS count
