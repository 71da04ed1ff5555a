// How many sources were parsed and linked, and how many texts embedded, in each of the last $seconds, by the store's clock.
// A stage sets the time of the last change too, so that one scan for recent changes finds all.
WITH datetime.realtime() AS now
WITH now, now - duration({seconds: $seconds}) AS start
MATCH (n:File|MarkdownSection|Scope|TextSection|Article|Section|Adopted)
WHERE n.projectId = $project AND n._stateChangedAt >= start
WITH now, start, n, n:File OR n:Article AS isSource
UNWIND [
    {stage: 'parse', at: CASE WHEN isSource THEN n._parsedAt END},
    {stage: 'link', at: CASE WHEN isSource THEN n._linkedAt END},
    {stage: 'embed', at: CASE WHEN NOT isSource THEN n._embeddedAt END}
] AS passed
WITH now, start, passed WHERE passed.at >= start
RETURN passed.stage AS stage, datetime.truncate('second', passed.at) AS second, count(*) AS count, now AS now
