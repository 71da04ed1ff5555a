// Labels beyond graphmill's own whose nodes have a state since a migration; the project is not asked for.
MATCH (m:GraphmillMeta)
WHERE m.key STARTS WITH 'label:' AND $project <> ''
  AND NOT m.text IN ['File', 'Directory', 'MarkdownSection', 'Scope', 'TextSection', 'Chunk', 'Article', 'Section', 'Category', 'Wiki',
    'IngestionRun', 'Partition', 'Worker']
RETURN m.text AS label, $project AS project
