// How far articles are known: a redirect names its target, what is in skip its reason.
UNWIND $uuids AS wanted
MATCH (a:Article) WHERE a.uuid = wanted AND a.projectId = $project
RETURN a.uuid AS uuid, a._state AS state, a._errorMessage AS reason, a._redirect AS redirect, a._errorClass AS class
