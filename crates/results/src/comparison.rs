//! The table that answers the question of a scenario.
