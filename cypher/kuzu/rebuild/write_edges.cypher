COPY (MATCH (a:`%source%`)-[r:`%type%`]->(b:`%target%`) RETURN a.`%source_key%`, b.`%target_key%`%[, |r.`%column%`]%) TO '%file%'
