-- Purpose: the highest level of each phase, for the whole job and for each coordinate.
WITH levels AS (
  SELECT s.job, s.process, s.rank, CASE WHEN s.memory = 'host' THEN 'host' ELSE 'gpu' END AS memory, s.path AS phase,
         MAX(CASE WHEN s.memory = 'host' THEN s.peak_live ELSE s.tensor_peak END) AS bytes
  FROM phases s WHERE s.count > 0 GROUP BY 1, 2, 3, 4, 5
), placed AS (
  SELECT l.job, l.rank, l.memory, l.phase, l.bytes, a.axis,
         CASE a.axis WHEN 'pp' THEN p.pp WHEN 'tp' THEN p.tp WHEN 'dp' THEN p.dp WHEN 'ep' THEN p.ep END AS coordinate
  FROM levels l JOIN ranks p ON p.job = l.job AND p.process = l.process
  CROSS JOIN (VALUES ('job'), ('pp'), ('tp'), ('dp'), ('ep')) AS a(axis)
  WHERE l.bytes > 0
), ordered AS (
  SELECT d.*, ROW_NUMBER() OVER (PARTITION BY d.job, d.memory, d.phase, d.axis, d.coordinate
                                 ORDER BY d.bytes DESC, d.rank) AS place
  FROM placed d WHERE d.axis = 'job' OR d.coordinate IS NOT NULL
), grouped AS (
  SELECT o.job, o.memory, o.phase, o.axis, o.coordinate, COUNT(*) AS ranks, MAX(o.bytes) AS highest,
         MEDIAN(o.bytes) AS middle, MAX(CASE WHEN o.place = 1 THEN o.rank END) AS highest_rank
  FROM ordered o GROUP BY 1, 2, 3, 4, 5
), ranked AS (
  SELECT g.*, MAX(g.highest) OVER (PARTITION BY g.job, g.memory, g.phase) AS of_phase FROM grouped g
)
SELECT g.job, g.memory, g.phase,
       CASE WHEN g.axis = 'job' THEN 'all ranks' ELSE g.axis || ' ' || CAST(g.coordinate AS STRING) END AS place,
       g.ranks, CAST(FLOOR(g.middle) AS BIGINT) AS median_bytes, g.highest AS highest_bytes, g.highest_rank
FROM ranked g
ORDER BY g.job, g.memory, g.of_phase DESC, g.phase,
         CASE g.axis WHEN 'job' THEN 0 WHEN 'pp' THEN 1 WHEN 'tp' THEN 2 WHEN 'dp' THEN 3 ELSE 4 END, g.coordinate
