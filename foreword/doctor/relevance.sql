-- What is searched by meaning, in numbers. Run as the ledger's owner: other roles see one tenant or none.

-- name: models
SELECT m.name, m.dimension, m.state,
       count(u.id) FILTER (WHERE u.failures < 5),
       count(u.id) FILTER (WHERE u.failures >= 5),
       coalesce(extract(epoch FROM now() - min(u.queued_at) FILTER (WHERE u.failures < 5)), 0)::float8
FROM embedding_models m LEFT JOIN unembedded u USING (model_id)
WHERE m.state <> 'retired'
GROUP BY m.model_id
ORDER BY m.state DESC;
