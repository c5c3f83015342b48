//! A column of the table: the numbers of a forecast under one title.

use std::borrow::Cow;

use crate::instance::{Price, PriceKind};
use crate::metric::{LineKind, MemoryOf, Metric, MetricName};
use crate::report::InstanceForecast;
use crate::report::budget_lines::{highest_canary, increase};
use crate::report::words::{self, Quantity};
use crate::units::Bytes;

/// A column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Column {
    Metric(Metric),
    VersusBase,
    /// What one of several machines does in comparison with one alone.
    Efficiency,
    /// The level of what the script prints.
    Level(MetricName),
}

impl Column {
    /// The column of every metric that has one, then that of the base. Those of what the script prints follow.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let metrics = Metric::ALL.into_iter();
        let titled = metrics.filter(|metric| metric.title().is_some());
        let titled = titled.map(Self::Metric);
        titled.chain([Self::VersusBase, Self::Efficiency])
    }

    pub(in crate::report) fn title(self) -> Cow<'static, str> {
        match self {
            Self::Metric(metric) => metric.title().unwrap_or(metric.words()).into(),
            Self::VersusBase => "vs base".into(),
            Self::Efficiency => "Efficiency".into(),
            Self::Level(name) => name.to_string().into(),
        }
    }

    /// The column that shows a budget line's estimate.
    pub(super) fn of_line(line: LineKind) -> Self {
        match line {
            LineKind::Absolute(metric) => Self::Metric(metric),
            LineKind::Increase(_) => Self::VersusBase,
            LineKind::Named(name) => Self::Level(name),
        }
    }

    pub(in crate::report) fn figure(self, forecast: &InstanceForecast) -> Option<Figure> {
        let metric = match self {
            Self::Metric(metric) => metric,
            Self::VersusBase => return versus_base(forecast),
            Self::Efficiency => {
                let share = forecast.efficiency?.map(|share| 100.0 * share);
                let unit = Quantity::Percent;
                return Some((unit.figure(share.point), unit.interval(&share)));
            }
            Self::Level(name) => {
                let (level, unit) = (forecast.metrics.get(&name)?, Quantity::Number);
                return Some((unit.figure(level.point), unit.interval(level)));
            }
        };
        let unit = metric.unit();
        let Some(estimate) = forecast.estimates[metric] else {
            let least = unit.figure(highest_canary(metric, forecast)?);
            return Some((format!("≥ {least}"), Some("highest canary".to_owned())));
        };
        let price_is_estimate = forecast.prices().any(Price::is_estimate);
        let mark = if price_is_estimate && metric.is_priced() {
            "~"
        } else if forecast.is_lower_bound(metric) || highest_canary(metric, forecast).is_some() {
            "≥ "
        } else {
            ""
        };
        let point = format!("{mark}{}", unit.figure(estimate.point));
        let bought = (metric == Metric::Cost).then(|| bought(forecast, estimate.point));
        let detail = unit.interval(&estimate).into_iter().chain(bought.flatten());
        let detail = words::joined(detail, ", ");
        Some((point, (!detail.is_empty()).then_some(detail)))
    }
}

/// How a full run on spot capacity is bought, and what it costs on demand: `spot, 2.75 USD on demand`.
fn bought(forecast: &InstanceForecast, cost: f64) -> Option<String> {
    let price = forecast.price.as_ref()?;
    match (price.kind, price.on_demand_usd_per_hour) {
        (PriceKind::OnDemand, _) => None,
        (PriceKind::OnDemandForSpot, _) => Some("on demand, spot not known".to_owned()),
        (PriceKind::Spot, None) => Some("spot".to_owned()),
        (PriceKind::Spot, Some(on_demand)) => {
            let on_demand = Quantity::Money.figure(cost * on_demand.0 / price.usd_per_hour.0);
            Some(format!("spot, {on_demand} on demand"))
        }
    }
}

/// A number as a reader sees it, and what stands beside it: its interval.
type Figure = (String, Option<String>);

/// `+31%`, or `within noise` where the interval holds no change at all.
fn versus_base(forecast: &InstanceForecast) -> Option<Figure> {
    let mut changes = [Metric::Cost, Metric::Time].into_iter();
    let change = changes.find_map(|metric| increase(metric, forecast))?;
    if words::is_noise(&change) {
        return Some(("within noise".to_owned(), None));
    }
    let point = words::signed(Quantity::Percent, change.point);
    Some((point, Quantity::Percent.interval(&change)))
}

/// The numbers of a forecast that these columns do not show: `CPU 22% (20–24)`.
pub(in crate::report) fn unshown_figures(
    forecast: &InstanceForecast,
    shown: &[Column],
) -> Vec<String> {
    let memory = MemoryOf::ALL.into_iter().filter_map(|of| {
        let metric = Metric::bytes_of(of);
        let estimate = forecast.estimates[metric]?;
        let [point, lower, upper] =
            [estimate.point, estimate.lower, estimate.upper].map(Bytes::from_f64);
        Some(format!("{} {point} ({lower}–{upper})", metric.words()))
    });
    let unshown = Column::all().filter(|column| !shown.contains(column));
    let columns = unshown.filter_map(|column| {
        let (point, interval) = column.figure(forecast)?;
        let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
        Some(format!("{} {point}{interval}", column.title()))
    });
    memory.chain(columns).collect()
}
