//! CreateTrainingJob, built from what is asked for and where it lies.
