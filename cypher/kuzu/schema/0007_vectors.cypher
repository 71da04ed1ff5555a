// A vector of any length beside each text. The tables stay as they are when the model changes.
ALTER TABLE MarkdownSection ADD IF NOT EXISTS embedding FLOAT[];
ALTER TABLE TextSection ADD IF NOT EXISTS embedding FLOAT[];
ALTER TABLE Scope ADD IF NOT EXISTS embedding FLOAT[];
ALTER TABLE Section ADD IF NOT EXISTS embedding FLOAT[];
ALTER TABLE Chunk ADD IF NOT EXISTS embedding FLOAT[];
