// What Wikipedia becomes, and the relationships that both sources share.
CREATE NODE TABLE IF NOT EXISTS Article(%bookkeeping_1%, title STRING, pageId INT64, revisionId INT64, revisionTimestamp TIMESTAMP, url STRING, lang STRING, word_count INT64, category STRING, expansion_state STRING, expansion_depth INT64, claimed_at TIMESTAMP, processed_at TIMESTAMP, retry_count INT64);
CREATE NODE TABLE IF NOT EXISTS Section(%bookkeeping_1%, title STRING, level INT64, content STRING, word_count INT64);
CREATE NODE TABLE IF NOT EXISTS Category(%bookkeeping_1%, title STRING);
CREATE REL TABLE IF NOT EXISTS HAS_SECTION(FROM File TO MarkdownSection, FROM File TO TextSection, FROM Article TO Section, `index` INT64, section_index INT64);
CREATE REL TABLE IF NOT EXISTS LINKS_TO(FROM File TO File, FROM File TO MarkdownSection, FROM MarkdownSection TO File, FROM MarkdownSection TO MarkdownSection, FROM Article TO Article, count INT64);
CREATE REL TABLE IF NOT EXISTS HAS_CHUNK(FROM MarkdownSection TO Chunk, FROM TextSection TO Chunk, FROM Scope TO Chunk, FROM Section TO Chunk, `index` INT64);
CREATE REL TABLE IF NOT EXISTS IN_CATEGORY(FROM Article TO Category);
CREATE REL TABLE IF NOT EXISTS REDIRECTS_TO(FROM Article TO Article);
