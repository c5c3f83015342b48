//! Canaries, the law of time, and the interval of the full run, on a linear and on a logarithmic scale.

use super::super::super::background::{abscissa, completed};
use super::super::super::law_chart::{LIMIT_SHOWN_TO, TimeUnit, most, time_at};
use super::super::super::words::{self, Quantity};
use super::super::super::{InstanceForecast, JobReport};
use super::super::markup::Markup;
use super::super::plot::{PLOT_LINES, Plot, PlotAxis, PlotColour, PlotMark, PlotScale, PlotShape};
use super::{shown_upper, top};
use crate::forecast::{EstimateAtShare, Law};
use crate::metric::Metric;
use crate::units::Seconds;

/// Of the curve: enough to show a bend.
const STEPS: u32 = 40;

/// Configurations whose law is drawn; of more the table has the numbers.
const LAWS_SHOWN: usize = 5;

/// Canaries that a description names.
const CANARIES_NAMED: usize = 12;

/// As a forecast gives them; a stored report may come from anybody.
fn sound(by_share: &[EstimateAtShare]) -> &[EstimateAtShare] {
    let is_amount = |value: f64| value.is_finite() && value >= 0.0;
    let is_place = |one: &EstimateAtShare| {
        let is_share = one.share > 0.0 && one.share <= 1.0;
        is_share && is_amount(one.lower) && is_amount(one.upper) && one.lower <= one.upper
    };
    let is_sound =
        by_share.iter().all(is_place) && by_share.is_sorted_by(|one, next| one.share < next.share);
    match is_sound {
        true => by_share,
        false => &[],
    }
}

/// Of each configuration with a law of time, the job's own first: a plot with even and one with logarithmic axes.
pub(in super::super) fn laws(job: &JobReport) -> Vec<Markup> {
    let curves = job.forecasts.iter();
    let curves = curves.filter_map(|forecast| LawCurve::of(job, forecast));
    curves
        .take(LAWS_SHOWN)
        .flat_map(|curve| [curve.even(), curve.logarithmic()])
        .flatten()
        .collect()
}

/// What both plots of a configuration draw. Times are in the unit, shares 0-1.
struct LawCurve<'a> {
    job: &'a JobReport,
    forecast: &'a InstanceForecast,
    law: &'a Law,
    unit: TimeUnit,
    /// Shares and times of canaries that did the full work, which the law is of.
    canaries: Vec<(f64, f64)>,
    /// Lower end, point and upper end of the full run.
    ends: [f64; 3],
    /// The forecast between the canaries and the full run; empty in reports of older versions, and where its own canaries do not
    /// say. One law alone may lie off the points that several are weighed by.
    between: Vec<EstimateAtShare>,
    limit: Option<f64>,
    /// The budget's, even where it is too far above to be drawn.
    limit_in_words: Option<String>,
}

impl<'a> LawCurve<'a> {
    fn of(job: &'a JobReport, forecast: &'a InstanceForecast) -> Option<Self> {
        let law = forecast.law.time.as_ref()?;
        let full = forecast.estimates[Metric::Time]?;
        let ends = [full.lower, full.point, shown_upper(&full)];
        let highest = top(ends.into_iter().chain([law.at(1.0)]))?;
        let limit = most(forecast, Metric::Time);
        let shown_limit = limit.filter(|limit| *limit <= LIMIT_SHOWN_TO * highest);
        let unit = TimeUnit::for_largest(highest.max(shown_limit.unwrap_or(0.0)));
        let in_unit = |seconds: f64| seconds / unit.seconds();
        let runs = completed(job, forecast).filter(|run| run.work_share() >= 1.0);
        let canaries = runs.filter_map(|run| {
            let Seconds(time) = run.training_seconds?;
            let share = run.data_share();
            let is_drawn = share > 0.0 && share <= 1.0 && time > 0.0 && time.is_finite();
            is_drawn.then_some((share, in_unit(time)))
        });
        Some(Self {
            job,
            forecast,
            law,
            unit,
            canaries: canaries.collect(),
            ends: ends.map(in_unit),
            between: (sound(&forecast.time_by_share).iter())
                .map(|one| EstimateAtShare {
                    share: one.share,
                    point: in_unit(one.point),
                    lower: in_unit(one.lower),
                    upper: in_unit(one.upper),
                })
                .collect(),
            limit: shown_limit.map(in_unit),
            limit_in_words: limit.map(|limit| Quantity::Time.figure(limit)),
        })
    }

    fn at(&self, share: f64) -> f64 {
        time_at(self.law, share) / self.unit.seconds()
    }

    fn highest(&self) -> Option<f64> {
        let canaries = self.canaries.iter().map(|(_, time)| *time);
        let curve = [self.at(1.0)].into_iter().chain(self.ends);
        top(curve.chain(canaries).chain(self.limit))
    }

    fn even(&self) -> Option<Markup> {
        let places = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let places: Vec<f64> = places.collect();
        let x = PlotAxis::linear(self.x_title(), 0.0, 100.0);
        let y = PlotAxis::linear(self.unit.name(), 0.0, self.highest()?);
        Some(self.plot(PlotScale::Linear, &places, x, y))
    }

    /// `None` without canaries, which it is for: near 0 they run into each other elsewhere.
    fn logarithmic(&self) -> Option<Markup> {
        let shares = self.canaries.iter().map(|(share, _)| *share);
        let smallest = shares.fold(1.0, f64::min);
        if smallest >= 1.0 {
            return None;
        }
        let from = smallest * 0.8;
        let place = |step| from * (1.0 / from).powf(f64::from(step) / f64::from(STEPS));
        let places: Vec<f64> = (0..=STEPS).map(place).collect();
        let times = self.canaries.iter().map(|(_, time)| *time);
        let curve = places.iter().map(|share| self.at(*share));
        let lower_ends = self.between.iter().map(|one| one.lower);
        let above = times
            .chain(curve)
            .chain(lower_ends)
            .filter(|time| *time > 0.0);
        let lowest = above.fold(self.highest()?, f64::min) * 0.8;
        let x = PlotAxis::logarithmic(self.x_title(), from * 100.0, 100.0);
        let y = PlotAxis::logarithmic(self.unit.name(), lowest, self.highest()? * 1.1);
        Some(self.plot(PlotScale::Logarithmic, &places, x, y))
    }

    fn x_title(&self) -> String {
        format!("share of the {} (%)", abscissa(self.job, self.forecast))
    }

    fn plot(&self, scale: PlotScale, places: &[f64], x: PlotAxis, y: PlotAxis) -> Markup {
        let [lower, point, upper] = self.ends;
        let curve: Vec<(f64, f64)> = match self.between.is_empty() {
            true => (places.iter().map(|share| (*share, self.at(*share)))).collect(),
            false => (self.between.iter().map(|one| (one.share, one.point))).collect(),
        };
        let curve = (curve.into_iter().map(|(share, time)| (share * 100.0, time))).collect();
        let band: Vec<(f64, f64, f64)> = match self.between.is_empty() {
            true => self.joined_band(places),
            false => (self
                .between
                .iter()
                .map(|one| (one.share, one.lower, one.upper)))
            .collect(),
        };
        let in_percent = |(share, lower, upper): (f64, f64, f64)| (share * 100.0, lower, upper);
        let band = band.into_iter().map(in_percent);
        let purple = |shape| PlotMark::new(PlotColour::First, shape);
        let mut marks = vec![
            purple(PlotShape::Band(band.collect())),
            purple(PlotShape::Line(curve)),
            purple(PlotShape::Whisker((100.0, lower), (100.0, upper))),
            purple(PlotShape::Points(vec![(100.0, point)])),
        ];
        if let Some(limit) = self.limit {
            let across = vec![(x.ends().0, limit), (100.0, limit)];
            marks.push(PlotMark::new(PlotColour::Second, PlotShape::Dashes(across)));
        }
        let canaries = self.canaries.iter();
        let canaries = canaries.map(|(share, time)| (share * 100.0, *time));
        let canaries = PlotShape::Points(canaries.collect());
        marks.push(PlotMark::new(PlotColour::Third, canaries));
        let instance = &self.forecast.instance;
        Plot {
            title: match scale {
                PlotScale::Linear => format!("Time on {instance}"),
                PlotScale::Logarithmic => format!("Time on {instance}, logarithmic"),
            },
            caption: Markup::paragraph(&self.caption(scale)),
            description: self.description(),
            x,
            y,
            lines: PLOT_LINES,
            marks,
        }
        .figure()
    }

    /// From the law at the largest canary to the interval of the full run: all that a report of an older version has.
    fn joined_band(&self, places: &[f64]) -> Vec<(f64, f64, f64)> {
        let [lower, _, upper] = self.ends;
        let shares = self.canaries.iter().map(|(share, _)| *share);
        let largest = shares.fold(0.0, f64::max);
        let beyond = |share: f64| ((share - largest) / (1.0 - largest)).clamp(0.0, 1.0);
        let places = places.iter().filter(|share| **share >= largest);
        let ends = places.map(|share| {
            let (middle, part) = (self.at(*share), beyond(*share));
            let end = |end: f64| (middle + part * (end - self.at(1.0))).max(0.0);
            (*share, end(lower), end(upper))
        });
        ends.collect()
    }

    fn caption(&self, scale: PlotScale) -> String {
        if scale == PlotScale::Logarithmic {
            return "The same, with logarithmic axes.".to_owned();
        }
        let canaries = match self.canaries.is_empty() {
            true => "",
            false => "Blue points are canaries, ",
        };
        let limit = match (&self.limit_in_words, self.limit) {
            (None, _) => String::new(),
            (Some(limit), Some(_)) => format!(" The dashed green line is the limit of {limit}."),
            (Some(limit), None) => format!(" The limit of {limit} is far above."),
        };
        let band = match self.between.is_empty() {
            true => {
                "and the bar at 100% the interval of a full run. The band only leads the eye to it."
            }
            false => {
                "and the band the interval of one new run of that size; the bar at 100% is that of the full run."
            }
        };
        let line = match self.between.is_empty() {
            true => "the law",
            false => "the forecast",
        };
        let text = format!("{canaries}the purple line is {line}, {band}{limit}");
        words::capitalized(&text)
    }

    fn description(&self) -> String {
        let estimate = self.forecast.estimates[Metric::Time];
        let full = estimate.map(|full| Quantity::Time.with_interval(&full));
        let canaries = self.canaries.iter().take(CANARIES_NAMED);
        let canaries = canaries.map(|(share, time)| {
            let time = Quantity::Time.figure(time * self.unit.seconds());
            format!("{} {time}", words::share(*share))
        });
        let further = self.canaries.len().saturating_sub(CANARIES_NAMED);
        let further = (further > 0).then(|| format!("{further} further canaries"));
        let full = full.map(|full| format!("100% {full} by the forecast"));
        let all: Vec<String> = canaries.chain(further).chain(full).collect();
        all.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::samples;
    use super::super::super::tests::read;
    use super::*;

    /// On one configuration.
    fn churn() -> JobReport {
        let mut job = samples::of("over-budget").jobs.remove(0);
        job.forecasts.truncate(1);
        job.forecasts[0].time_by_share.clear();
        job
    }

    fn drawn(job: &JobReport) -> String {
        laws(job).iter().map(|plot| plot.as_str()).collect()
    }

    fn said(job: &JobReport) -> String {
        read(&drawn(job)).texts.concat()
    }

    fn at(share: f64, point: f64, lower: f64, upper: f64) -> EstimateAtShare {
        EstimateAtShare {
            share,
            point,
            lower,
            upper,
        }
    }

    const BY_SHARE: &str = "the band the interval of one new run of that size";
    const JOINED: &str = "The band only leads the eye to it.";

    #[test]
    fn the_band_is_the_interval_of_each_size() {
        let mut job = churn();
        let joined = drawn(&job);
        let own = samples::of("over-budget")
            .jobs
            .remove(0)
            .forecasts
            .remove(0);
        job.forecasts[0].time_by_share = own.time_by_share;
        assert!(said(&job).contains(BY_SHARE), "{}", said(&job));
        assert!(!said(&job).contains(JOINED));
        assert_ne!(drawn(&job), joined);
    }

    #[test]
    fn a_report_of_an_older_version_has_its_ends_joined() {
        let job = churn();
        assert_eq!(job.forecasts[0].time_by_share, []);
        assert!(said(&job).contains(JOINED), "{}", said(&job));
    }

    #[test]
    fn what_no_forecast_gives_is_not_drawn() {
        let mut job = churn();
        let joined = drawn(&job);
        for broken in [
            vec![at(0.0, 1.0, 1.0, 1.0)],
            vec![at(2.0, 1.0, 1.0, 1.0)],
            vec![at(0.5, 1.0, 2.0, 1.0)],
            vec![at(0.5, 1.0, -1.0, 1.0)],
            vec![at(0.5, 1.0, 1.0, f64::INFINITY)],
            vec![at(0.5, 1.0, f64::NAN, 1.0)],
            vec![at(1.0, 1.0, 1.0, 1.0), at(0.5, 1.0, 1.0, 1.0)],
        ] {
            job.forecasts[0].time_by_share = broken;
            assert_eq!(drawn(&job), joined);
        }
    }
}
