MATCH ()-[r:`%type%`]->() RETURN count(*)%[, |count(r.`%column%`)]%
