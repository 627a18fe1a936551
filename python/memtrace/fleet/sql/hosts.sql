-- Purpose: hosts with less memory than the others, or with more page cache or shared memory.
-- A host differs from the other hosts of its job by a tenth of the memory. The limit of a cgroup counts as the memory.
WITH figures AS (
  SELECT p.job, p.host, MIN(LEAST(p.host_memory, COALESCE(p.cgroup_limit, p.host_memory))) AS memory,
         MAX(GREATEST(p.host_cache - COALESCE(p.host_shmem, 0), 0)) AS page_cache, MAX(p.host_shmem) AS shared,
         COUNT(DISTINCT p.rank) AS ranks, MIN(p.rank) AS first_rank, MAX(p.rank) AS last_rank
  FROM processes p WHERE p.host_memory IS NOT NULL GROUP BY 1, 2
), split AS (
  SELECT f.*, w.what,
         CASE w.what WHEN 'memory' THEN f.memory WHEN 'page cache' THEN f.page_cache ELSE f.shared END AS bytes
  FROM figures f CROSS JOIN (VALUES ('memory'), ('page cache'), ('shared memory')) AS w(what)
), compared AS (
  SELECT s.job, s.host, s.what, s.bytes, s.memory, s.ranks, s.first_rank, s.last_rank, COUNT(*) AS others,
         MEDIAN(o.bytes) AS typical
  FROM split s JOIN split o ON o.job = s.job AND o.what = s.what AND o.host <> s.host
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
)
SELECT c.job, c.host, c.what AS differs_in, c.bytes AS here_bytes, CAST(FLOOR(c.typical) AS BIGINT) AS others_bytes,
       c.others AS other_hosts, c.ranks, c.first_rank, c.last_rank
FROM compared c
WHERE CASE WHEN c.what = 'memory' THEN c.typical - c.bytes >= c.typical / 10
           ELSE c.bytes - c.typical >= c.memory / 10 END
ORDER BY c.job, c.host, c.what
