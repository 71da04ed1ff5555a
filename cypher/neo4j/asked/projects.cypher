// The projects that the database holds beside this one, with how many nodes each has.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Adopted)
WHERE n.projectId <> $project
RETURN n.projectId AS project, count(*) AS count ORDER BY project
