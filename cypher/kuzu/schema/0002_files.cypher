// What a folder of files becomes.
CREATE NODE TABLE IF NOT EXISTS File(%bookkeeping_1%, root STRING, path STRING, extension STRING, size INT64, language STRING, mimeType STRING);
CREATE NODE TABLE IF NOT EXISTS Directory(%bookkeeping_1%, path STRING);
CREATE NODE TABLE IF NOT EXISTS MarkdownSection(%bookkeeping_1%, title STRING, level INT64, slug STRING, content STRING, startLine INT64, endLine INT64);
CREATE NODE TABLE IF NOT EXISTS Scope(%bookkeeping_1%, kind STRING, signature STRING, content STRING, docstring STRING, language STRING, startLine INT64, endLine INT64);
CREATE NODE TABLE IF NOT EXISTS TextSection(%bookkeeping_1%, content STRING, startLine INT64, endLine INT64);
CREATE NODE TABLE IF NOT EXISTS Chunk(%bookkeeping_1%, content STRING);
CREATE REL TABLE IF NOT EXISTS DEFINED_IN(FROM Scope TO File);
CREATE REL TABLE IF NOT EXISTS HAS_PARENT(FROM Scope TO Scope, FROM MarkdownSection TO MarkdownSection);
CREATE REL TABLE IF NOT EXISTS IN_DIRECTORY(FROM File TO Directory);
CREATE REL TABLE IF NOT EXISTS CONSUMES(FROM Scope TO Scope, count INT64);
