// The projects that the database holds beside this one, with how many nodes each has.
MATCH (n)
WHERE n.projectId <> $project AND NOT label(n) IN ['Worker', 'GraphmillMeta']
RETURN n.projectId AS project, count(*) AS count ORDER BY project
