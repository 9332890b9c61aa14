-- create_report | in: ppdm.releases, ppdm.measures | out: ppdm.release_report | grain: one row per release | params: -
-- All measures of a release as a map, and the commonest of them as columns, as they are on the release.
CREATE VIEW IF NOT EXISTS ppdm.release_report AS
SELECT
    r.release,
    r.method,
    r.source,
    r.rows,
    r.requirements,
    r.verified,
    r.stopped,
    r.created_at,
    r.version,
    m.smallest_class,
    m.highest_confidence,
    m.suppressed_cells,
    m.information_loss,
    m.records_changed,
    m.privacy_level,
    coalesce(m.measures, MAP {}) AS measures
FROM ppdm.releases AS r
LEFT JOIN (
    SELECT
        e.release,
        CAST(min(e.after) FILTER (WHERE starts_with(e.measure, 'smallest class: ')) AS BIGINT) AS smallest_class,
        max(e.after) FILTER (WHERE starts_with(e.measure, 'confidence: ')) AS highest_confidence,
        max(e.after) FILTER (WHERE e.measure = 'suppressed cells') AS suppressed_cells,
        max(e.after) FILTER (WHERE e.measure = 'generalized information loss') AS information_loss,
        CAST(
            sum(e.after) FILTER (WHERE contains(e.measure, ' identifiable records changed: ')) AS BIGINT
        ) AS records_changed,
        min(e.after) FILTER (WHERE starts_with(e.measure, 'privacy level at ')) AS privacy_level,
        map_from_entries(
            list({'key': e.measure, 'value': {'before': e.before, 'after': e.after}} ORDER BY e.measure ASC)
        ) AS measures
    FROM (
        SELECT
            d.release,
            d.measure,
            any_value(d.before) AS before,
            any_value(d.after) AS after
        FROM ppdm.measures AS d
        GROUP BY d.release, d.measure
    ) AS e
    GROUP BY e.release
) AS m
    ON m.release = r.release
ORDER BY r.created_at ASC, r.release ASC;
