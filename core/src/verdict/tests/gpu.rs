//! The line of a GPU's memory that always holds.

use super::*;
use crate::instance::tables;

const LINE: Metric = Metric::GpuMemory;

fn on(instance: &str, forecast: &Forecast, lines: &[BudgetLine]) -> Vec<JudgedLine> {
    let offer = Offer::of(&instance.parse().unwrap(), &tables::capacity, &|_| None);
    judge(&budget(lines), forecast, &offer, None)
}

fn always() -> [BudgetLine; 1] {
    [implicit(at_most(LINE, 100.0))]
}

fn seen(known: KnownPeak, quantity: Quantity) -> Forecast {
    Forecast {
        gpu_memory: KnownPeak {
            is_measured: true,
            ..known
        },
        ..nothing_known().with(LINE, quantity)
    }
}

#[test]
fn more_than_a_gpu_has_is_over_budget_without_a_written_line() {
    let verdict = |percent: f64| {
        let forecast = seen(KnownPeak::default(), about(percent));
        let lines = on("ml.g5.xlarge", &forecast, &always());
        let instance = "ml.g5.xlarge".parse().unwrap();
        let said = reason(&lines, &forecast, &instance, CERTAINTY);
        (job_verdict(&lines), said)
    };
    let (found, said) = verdict(180.0);
    assert_eq!(found, Verdict::Exceeded);
    assert_eq!(
        said,
        "GPU memory is forecast at 180% (153–212%) of a GPU of ml.g5.xlarge: this fails"
    );
    let (found, said) = verdict(95.0);
    assert_eq!(found, Verdict::AtRisk);
    assert!(
        said.starts_with("GPU memory may exceed 100% of the GPU: 95%"),
        "{said}"
    );
    assert_eq!(verdict(40.0).0, Verdict::NotJudged);
}

#[test]
fn a_machine_without_a_gpu_has_no_line_of_it() {
    let unmeasured = nothing_known();
    assert_eq!(on("ml.m5.4xlarge", &unmeasured, &always()), []);
    // Nor has one of which nothing is known.
    assert_eq!(on("local", &unmeasured, &always()), []);
    // A written one is shown.
    let written = on("ml.m5.4xlarge", &unmeasured, &[at_most(LINE, 90.0)]);
    assert_eq!(written[0].reason.as_deref(), Some("the machine has no GPU"));
}

#[test]
fn what_was_not_measured_on_a_gpu_says_so_and_is_no_pass_of_a_written_line() {
    let unmeasured =
        nothing_known().with(LINE, Err(Unknown("no GPU memory was measured".to_owned())));
    let lines = on("ml.g5.xlarge", &unmeasured, &always());
    assert_eq!(lines[0].row.verdict, LineVerdict::NotApplicable);
    assert_eq!(
        lines[0].reason.as_deref(),
        Some("no GPU memory was measured")
    );
    let lines = on("ml.g5.xlarge", &unmeasured, &[at_most(LINE, 90.0)]);
    assert_eq!(job_verdict(&lines), Verdict::Unknown);
}

#[test]
fn a_canary_without_gpu_memory_settles_it_even_where_no_gpu_is_listed() {
    let forecast = seen(
        KnownPeak {
            ran_out: true,
            ..KnownPeak::default()
        },
        Err(Unknown("settled".to_owned())),
    );
    for instance in ["ml.g5.xlarge", "ml.m5.4xlarge", "local"] {
        let lines = on(instance, &forecast, &always());
        assert_eq!(job_verdict(&lines), Verdict::Exceeded, "{instance}");
        assert_eq!(
            reason(&lines, &forecast, &instance.parse().unwrap(), CERTAINTY),
            "a canary ran out of GPU memory, so the full run will pass 100% of the GPU"
        );
        // The machine's memory is another.
        let memory = on(
            instance,
            &forecast,
            &[implicit(at_most(Metric::Memory, 100.0))],
        );
        assert_eq!(memory[0].row.verdict, LineVerdict::NotApplicable);
    }
}
