CREATE VECTOR INDEX %index% IF NOT EXISTS FOR (n:%label%) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'cosine'}}
