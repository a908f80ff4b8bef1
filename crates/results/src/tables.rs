//! All tables, with the columns' names, units and types.
//!
//! A column is a field of its row. Its name (with the unit), its type and its description are
//! declared here and nowhere else. The description is the `description` in the metadata of the
//! Arrow field, so every Parquet file has it.
//!
//! Times are picoseconds since the start of the run, as signed 64-bit integers. Ids are those of
//! the run (`HostId`, `LinkId`, ...). `Option` is a nullable column.

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// One row of a table.
pub trait Row: Copy + Send + 'static {
    /// Name of the table, and of its file without `.parquet`.
    const TABLE: &'static str;
    /// Names, types and descriptions of the columns.
    fn schema() -> SchemaRef;
    /// These rows as columns.
    fn batch(rows: &[Self]) -> RecordBatch;
}

/// A type that a column can have.
trait Cell: Sized {
    const NULLABLE: bool = false;
    fn data_type() -> DataType;
    fn column(values: impl Iterator<Item = Self>) -> ArrayRef;
}

macro_rules! cells {
    ($($type:ty => $data_type:ident, $array:ident;)+) => {$(
        impl Cell for $type {
            fn data_type() -> DataType {
                DataType::$data_type
            }
            fn column(values: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new($array::from(values.collect::<Vec<_>>()))
            }
        }
        impl Cell for Option<$type> {
            const NULLABLE: bool = true;
            fn data_type() -> DataType {
                DataType::$data_type
            }
            fn column(values: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new(values.collect::<$array>())
            }
        }
    )+};
}
cells! {
    u32 => UInt32, UInt32Array;
    u64 => UInt64, UInt64Array;
    i64 => Int64, Int64Array;
    bool => Boolean, BooleanArray;
}

/// One of a few words, stored as a dictionary: four bytes per row.
impl Cell for &'static str {
    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }
    fn column(values: impl Iterator<Item = Self>) -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        for value in values {
            builder.append_value(value);
        }
        Arc::new(builder.finish())
    }
}

fn described(text: &str) -> HashMap<String, String> {
    // Only one key: a map has no fixed order.
    HashMap::from([("description".to_owned(), text.trim().to_owned())])
}

macro_rules! tables {
    ($(
        $(#[doc = $about:literal])+
        $table:literal: $row:ident {
            $( $(#[doc = $doc:literal])+ $column:ident: $type:ty, )+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $row {
                $( $(#[doc = $doc])+ pub $column: $type, )+
            }

            impl Row for $row {
                const TABLE: &'static str = $table;
                fn schema() -> SchemaRef {
                    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
                        let fields = vec![$(
                            Field::new(stringify!($column), <$type as Cell>::data_type(), <$type as Cell>::NULLABLE)
                                .with_metadata(described(concat!($($doc),+))),
                        )+];
                        Arc::new(Schema::new_with_metadata(fields, described(concat!($($about),+))))
                    });
                    SCHEMA.clone()
                }
                fn batch(rows: &[Self]) -> RecordBatch {
                    let columns = vec![$( <$type as Cell>::column(rows.iter().map(|row| row.$column)), )+];
                    RecordBatch::try_new(Self::schema(), columns).expect("columns as declared")
                }
            }
        )+

        /// Names and schemas of all tables, in the order of the documentation.
        pub fn all() -> Vec<(&'static str, SchemaRef)> {
            vec![$( ($row::TABLE, $row::schema()) ),+]
        }
    };
}

tables! {
    /// Flows: one row per flow that arrived, written when it finishes, or at the end of the run.
    "flows": FlowRow {
        /// Number of the flow in this run, in the order of arrival.
        flow: u32,
        /// The coflow that it belongs to.
        coflow: Option<u32>,
        /// Sending host.
        source: u32,
        /// Receiving host.
        destination: u32,
        /// Application bytes to be carried.
        size_bytes: u64,
        /// Arrival at the sender.
        start_ps: i64,
        /// From arrival to the last byte at the receiver's application; null where the run ended
        /// first.
        fct_ps: Option<i64>,
        /// From arrival until the sender knows that all bytes have arrived, which other simulators
        /// count as the completion time; null for datagrams, in a lab, and where the run ended
        /// first.
        acknowledged_ps: Option<i64>,
        /// Application bytes that the receiver has got, without repetitions.
        received_bytes: u64,
        /// The completion time in an empty network.
        ideal_ps: i64,
        /// Whether it arrived in the measured window.
        measured: bool,
        /// Packets sent again.
        retransmissions: u32,
        /// Retransmission timeouts.
        timeouts: u32,
    }

    /// Coflows: one row per group of flows that counts as done when its last flow is.
    "coflows": CoflowRow {
        /// Number of the coflow in this run, in the order of arrival.
        coflow: u32,
        /// Its number in the trace.
        name: u64,
        /// Flows that it consists of.
        flows: u32,
        /// Application bytes of all its flows.
        size_bytes: u64,
        /// Arrival of its first flow.
        start_ps: i64,
        /// From the first arrival to the end of the last flow; null where the run ended first.
        cct_ps: Option<i64>,
        /// Flows of it that are finished.
        finished_flows: u32,
        /// Whether it arrived in the measured window.
        measured: bool,
    }

    /// Steps: one row per step of a workload whose flows wait for others, in the order in which
    /// they end.
    "steps": StepRow {
        /// Number of the step, from 0.
        step: u32,
        /// When it begins: the end of the step before.
        start_ps: i64,
        /// From its begin until all its transfers have been received and all its computations are
        /// over; null where the run ended first.
        step_ps: Option<i64>,
        /// What no scheme can be faster than on the scenario's fabric.
        ideal_ps: i64,
    }

    /// Collectives: one row per collective of a group in a step, in the order in which they end.
    "collectives": CollectiveRow {
        /// The step that it is in.
        step: u32,
        /// Its number as a coflow: that of its flows.
        coflow: u32,
        /// What it does.
        kind: &'static str,
        /// How.
        algorithm: &'static str,
        /// How many hosts take part.
        ranks: u32,
        /// The whole buffer: before an all-reduce, a reduce-scatter or an all-to-all, after an
        /// all-gather or a broadcast.
        size_bytes: u64,
        /// Transfers that it is made of.
        flows: u32,
        /// Application bytes of all of them.
        sent_bytes: u64,
        /// Begin of its first transfer.
        start_ps: i64,
        /// From that until its last transfer has been received; null where the run ended first.
        collective_ps: Option<i64>,
        /// What no scheme can be faster than on the scenario's fabric, if nothing else is under
        /// way.
        ideal_ps: i64,
    }

    /// Queues over time: one row per queue that is not empty at a sample. A host's queue is that of
    /// its uplink.
    "queues": QueueRow {
        /// When the sample was taken.
        time_ps: i64,
        /// The link that the queue feeds.
        link: u32,
        /// The node that holds the queue.
        node: u32,
        /// Wire bytes that have not left, with the rest of the frame that is being sent.
        queue_bytes: u64,
        /// Packets that have not left completely.
        queue_packets: u32,
        /// Wire bytes without the frame that is being sent, as simulators with a queue before the
        /// link count. On an air link it counts until it is delivered.
        waiting_bytes: u64,
    }

    /// What hosts received over time: one row per sample and host that has received something since
    /// the sample before.
    "received": ReceivedRow {
        /// When the sample was taken.
        time_ps: i64,
        /// The receiving host.
        host: u32,
        /// New application bytes since the sample before.
        received_bytes: u64,
    }

    /// TCP senders over time: one row per sample and flow that is under way.
    "tcp": TcpRow {
        /// When the sample was taken.
        time_ps: i64,
        /// Number of the flow.
        flow: u32,
        /// The congestion window.
        window_bytes: u64,
        /// What is thought to be in the network.
        in_flight_bytes: u64,
        /// What has been acknowledged without gaps.
        acknowledged_bytes: u64,
        /// The smoothed round-trip time; null before the first measurement.
        smoothed_rtt_ps: Option<i64>,
        /// The longest round-trip time measured since the sample before; null where there was none.
        longest_rtt_ps: Option<i64>,
        /// Segments sent again so far.
        retransmissions: u64,
        /// Retransmission timeouts so far.
        timeouts: u32,
    }

    /// Air links over time: one row whenever the rate of one, its other end or what it is to its
    /// device changes, or nothing comes through any more. A radio of a flyway has one link for each
    /// channel, with rows once it is first pointed at a rack.
    "air": AirRow {
        /// From when on.
        time_ps: i64,
        /// The link.
        link: u32,
        /// The node at its sending end.
        from: u32,
        /// The node at its receiving end; null while it points at none.
        to: Option<u32>,
        /// `used`, `outage`; of a device with several access points: `unused`, and `handover`
        /// while it will be used and carries nothing yet; of a flyway: `pointing` and `down`.
        state: &'static str,
        /// The number of its MCS; null in an outage and while it is down.
        mcs: Option<u32>,
        /// Its rate; 0 while it cannot send.
        rate_bps: u64,
        /// Packets of the size that the rate was chosen for that are lost, in a million; null where
        /// that is only known of each frame, by its interference.
        lost_ppm: Option<u32>,
        /// How long its frames were in the air until the next row, or the end. Repeated frames
        /// count again, and answers do not.
        airtime_ps: i64,
        /// Bytes of packets that came out of it until then, without link framing.
        carried_bytes: u64,
    }

    /// Drops: one row per link and reason.
    "drops": DropRow {
        /// The link on which, or in front of which, packets were lost.
        link: u32,
        /// The node at its sending end.
        node: u32,
        /// Why. Packets that were `trimmed` are not lost: their headers went on.
        reason: &'static str,
        /// Packets lost, or trimmed.
        packets: u64,
        /// Bytes lost, without link framing; of packets that were trimmed, their payload.
        bytes: u64,
    }

    /// Control messages: one row per kind and sender.
    "control": ControlRow {
        /// What they are: reports, grants, ...
        kind: &'static str,
        /// The sending host; null for the controller, and for repair reports and pauses, which are
        /// counted together.
        sender: Option<u32>,
        /// Messages sent.
        messages: u64,
        /// Wire bytes sent.
        bytes: u64,
        /// Messages that never arrived.
        lost: u64,
        /// Messages that arrived too late to be followed.
        late: u64,
        /// Longest time of a message on ports of the control network or, in band, on links, besides
        /// the latency.
        max_transfer_ps: i64,
    }

    /// Slots: one row per planned transmission.
    "slots": SlotRow {
        /// Number of the scheduling round.
        round: u64,
        /// Number of the slot in its round.
        slot: u32,
        /// When it opens.
        start_ps: i64,
        /// How long it is open, without guard and dark time.
        open_ps: i64,
        /// The gap after it: guard and dark time.
        gap_ps: i64,
        /// Sending host.
        source: u32,
        /// Receiving host.
        destination: u32,
        /// Wire bytes that it was planned for.
        granted_bytes: u64,
        /// Wire bytes sent in it; null where that is not known, as on real hosts.
        sent_bytes: Option<u64>,
    }

    /// Rates: one row whenever a host may send to another one at another rate, in order of time for
    /// each pair.
    "rates": RateRow {
        /// From when on.
        time_ps: i64,
        /// Sending host.
        source: u32,
        /// Receiving host.
        destination: u32,
        /// Wire bits per second; 0 where nothing may be sent.
        rate_bps: u64,
    }

    /// Signals: one row for each gate that a control frame opens or closes, in the order of
    /// arrival.
    "signals": SignalRow {
        /// When the frame arrived at the host.
        time_ps: i64,
        /// The host whose gate it is.
        host: u32,
        /// The host that the gate leads to.
        destination: u32,
        /// Whether the gate opens.
        opens: bool,
        /// From the arrival until the host obeyed.
        reaction_ps: i64,
    }

    /// Links: one row per direction of a wire, over the whole run.
    "links": LinkRow {
        /// Number of the link.
        link: u32,
        /// The sending node.
        from: u32,
        /// The receiving node.
        to: u32,
        /// Packets sent.
        sent_packets: u64,
        /// Wire bytes sent.
        sent_bytes: u64,
        /// Time spent sending; of an air link, time that its frames were in the air.
        busy_ps: i64,
        /// The longest queue in front of it, in wire bytes.
        max_queue_bytes: u64,
        /// Packets that a rack held for the link's circuit when that ended, and kept; 0 of other
        /// links than those to rotor switches.
        late_packets: u64,
    }

    /// Latency: packets by the time that they spent in the network, from their first bit on the
    /// host's link to their last bit at the destination; of those that left in the window and
    /// arrived.
    "latency": LatencyRow {
        /// At least this long, and less than the next row or 1.6 % longer.
        latency_ps: i64,
        /// How many packets.
        packets: u64,
    }

    /// Round-trip times: segments by the time from their sending to the acknowledgement that tells
    /// of them, of those acknowledged in the window that were sent once.
    "rtt": RttRow {
        /// At least this long, and less than the next row or 1.6 % longer.
        rtt_ps: i64,
        /// How many segments.
        packets: u64,
    }

    /// Round-trip times by what they are measured on, in the window: one row per interval of
    /// `record.tcp_every`, reading and time. Without `record.tcp_every` there is one interval.
    "round_trips": RoundTripsRow {
        /// End of the interval.
        time_ps: i64,
        /// `segment`: as in the table `rtt`. `acknowledgement`: an acknowledgement of new data, by
        /// the time since its oldest segment was sent; none if this segment was sent again.
        /// `delivery`: a segment, by the time from its first sending until the receiver has all
        /// bytes up to its end. This time is one way.
        reading: &'static str,
        /// At least this long, and less than the next row or 1.6 % longer.
        rtt_ps: i64,
        /// How many segments or acknowledgements.
        packets: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_says_what_it_is_and_in_which_unit() {
        let plain = [
            "flow",
            "coflow",
            "source",
            "destination",
            "host",
            "name",
            "link",
            "node",
            "from",
            "to",
            "round",
            "slot",
            "step",
        ];
        let counts = ["flows", "packets", "messages", "lost", "late", "retransmissions", "timeouts", "bytes", "ranks"];
        for (table, schema) in all() {
            assert!(!schema.metadata()["description"].is_empty(), "{table}");
            for field in schema.fields() {
                let (name, about) = (field.name().as_str(), &field.metadata()["description"]);
                assert!(about.ends_with('.') || about.ends_with("..."), "{table}.{name}: {about}");
                let unit = ["_ps", "_bytes", "_packets", "_flows", "_bps", "_ppm"].iter().any(|u| name.ends_with(u));
                let other = ["measured", "opens", "reading", "reason", "kind", "sender", "mcs", "state", "algorithm"]
                    .contains(&name);
                assert!(unit || other || plain.contains(&name) || counts.contains(&name), "{table}.{name} has no unit");
            }
        }
    }

    #[test]
    fn null_is_kept() {
        let row =
            ControlRow { kind: "report", sender: None, messages: 1, bytes: 84, lost: 0, late: 0, max_transfer_ps: 0 };
        let batch = ControlRow::batch(&[row, ControlRow { sender: Some(7), ..row }]);
        assert_eq!(batch.column(1).null_count(), 1);
        assert!(!batch.schema().field(0).is_nullable() && batch.schema().field(1).is_nullable());
    }
}
