//! Groups of machines beside their twin: machines of one type that do the same work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::words::Quantity;
use super::{InstanceForecast, Prose};
use crate::forecast::Estimate;
use crate::instance::{InstanceConfiguration, InstanceType};

/// Groups beside the first configuration of the job that is of one type and has a forecast. A ratio is what the twin takes over what
/// the groups take.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersusTwin {
    /// The configuration of one type.
    pub instance: InstanceConfiguration,
    /// Whether the ratios of time and cost are by one law of growth for both, as far as their canaries agree. If not, and of a step, each
    /// is of two independent draws, one from each forecast.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_law: bool,
    /// Above 1 where the groups are faster.
    pub time_ratio: Option<Estimate>,
    /// Above 1 where the groups are cheaper.
    pub cost_ratio: Option<Estimate>,
    pub step_time_ratio: Option<Estimate>,
    pub cost_per_step_ratio: Option<Estimate>,
    /// Absent without a price of each type, and where all groups are of one type, or the twin is of the cheaper.
    pub break_even: Option<BreakEven>,
}

/// The price at which groups cost as much as their twin; below it they are cheaper.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakEven {
    /// The type of the cheaper group.
    pub instance_type: InstanceType,
    /// The price of one such machine today, in US dollars an hour.
    pub price_today: f64,
    /// Of a full run; 0 where the other groups alone cost as much as the twin.
    pub usd_per_hour: Option<Estimate>,
    /// Of a training step.
    pub usd_per_hour_by_step: Option<Estimate>,
}

impl BreakEven {
    /// Whether today's price is outside the interval of the price at which a full run costs the same.
    fn is_decided(&self) -> bool {
        let is_within = |even: &Estimate| (even.lower..=even.upper).contains(&self.price_today);
        !self.usd_per_hour.as_ref().is_some_and(is_within)
    }
}

/// `ml.p3.2xlarge takes 6.34 (5.22–7.71) times as long as data: 1x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge, and costs 4.28 (3.53–5.21)
/// times as much. The groups are cheaper while ml.c5.9xlarge costs less than 20 USD (16–26) an hour; today it costs 1.84 USD.`
pub(super) fn sentence(forecast: &InstanceForecast) -> Option<Prose> {
    let versus = forecast.versus_twin.as_ref()?;
    let twin = Prose::name(versus.instance.to_string());
    let groups = Prose::name(forecast.instance.to_string());
    let times = |ratio: &Estimate, words| {
        let ratio = Quantity::Number.with_interval(ratio);
        Prose::literal(format!("{ratio} times {words}"))
    };
    let time = times(versus.time_ratio.as_ref()?, "as long");
    let figures = [
        (&versus.cost_ratio, ", and costs ", "as much"),
        (&versus.step_time_ratio, "; a step takes ", "as long"),
        (&versus.cost_per_step_ratio, ", and costs ", "as much"),
    ];
    let figures = figures.into_iter().filter_map(|(ratio, lead, words)| {
        Some(Prose::own(lead).then(times(ratio.as_ref()?, words)))
    });
    let figures = Prose::joined(figures, "");
    let ratios = Prose::fill("{} takes {} as {}{}.", [twin, time, groups, figures]);
    let even = versus.break_even.as_ref().and_then(|even| {
        let price = Quantity::Money.with_interval(even.usd_per_hour.as_ref()?);
        let kind = Prose::name(even.instance_type.name());
        let today = Quantity::Money.figure(even.price_today);
        let sentence = match even.is_decided() {
            true => "The groups are cheaper while {} costs less than {} an hour; today it costs {}.",
            false => {
                "Whether the groups are cheaper is not decided: they are while {} costs less than {} an hour, and today it costs {}."
            }
        };
        let [price, today] = [price, today].map(Prose::literal);
        Some(Prose::fill(sentence, [kind, price, today]))
    });
    let sentences = [Some(ratios), even].into_iter().flatten();
    Some(Prose::joined(sentences, " "))
}
