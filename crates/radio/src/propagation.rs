//! Propagation from one antenna to another: free space, walls, and bodies in between.
//!
//! Rooms are boxes, with direct rays and rays of one reflection.

mod blocker;
mod budget;
mod noise;
mod room;

pub use blocker::Blocker;
pub use budget::{LinkBudget, free_space_loss};
pub use noise::{
    CHANNELS, FLYWAYS_NOISE, IMPLEMENTATION_LOSS, NOISE_FIGURE, OFDM_BANDWIDTH, PROXY_BANDWIDTH,
    PROXY_IMPLEMENTATION_LOSS, SC_BANDWIDTH, thermal_noise,
};
pub use room::{Losses, Path, Room, RoomError, Surface, received_by_paths};
