// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads a list of flows, simulates it packet by packet with htsim's library and
// writes when each flow completed. See README.md beside this file.

#include <time.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"
#include "tcppacket.h"

namespace
{

// A full packet has this many bytes on the wire. Datagrams have 30 bytes of
// headers, segments 42.
constexpr int kWire = 1500;
constexpr uint64_t kDatagramPayload = kWire - 30;
constexpr uint64_t kSegmentPayload = kWire - 42;

[[noreturn]] void
Fail(const std::string& why)
{
    std::fprintf(stderr, "peer: %s\n", why.c_str());
    std::exit(1);
}

// The path choice that crates/model/src/hash.rs documents.

uint64_t
Mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

uint32_t
FlowHash(uint32_t source, uint32_t destination, uint64_t flow)
{
    return Mix64(Mix64(uint64_t{source} << 32 | destination) ^ flow) >> 32;
}

uint32_t
EcmpIndex(uint32_t hash, uint32_t node, uint32_t n)
{
    return ((Mix64(hash ^ (uint64_t{node} + 1) * 0x9e3779b97f4a7c15) >> 32) * n) >> 32;
}

// A direction of a link: htsim's queue, and its pipe for the delay.
struct Link
{
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> pipe;

    Link(uint64_t bps, EventList& events)
        : queue(new Queue(bps, INT64_MAX / 2, events, nullptr)),
          pipe(new Pipe(timeFromUs(1.0), events))
    {
    }
};

// Hosts at 1 Gb/s, links between switches at 10 Gb/s, 1 us each, unbounded FIFOs.
struct Fabric
{
    uint32_t leaves, perLeaf, spines;
    // Per host; per leaf and spine.
    std::vector<Link> fromHost, toHost, up, down;

    Fabric(uint32_t leaves, uint32_t perLeaf, uint32_t spines, EventList& events)
        : leaves(leaves),
          perLeaf(perLeaf),
          spines(spines)
    {
        for (uint32_t host = 0; host < leaves * perLeaf; ++host)
        {
            fromHost.emplace_back(1'000'000'000, events);
            toHost.emplace_back(1'000'000'000, events);
        }
        for (uint32_t pair = 0; pair < leaves * spines; ++pair)
        {
            up.emplace_back(10'000'000'000, events);
            down.emplace_back(10'000'000'000, events);
        }
    }

    // How many links a packet crosses.
    uint32_t Hops(uint32_t from, uint32_t to) const
    {
        return from / perLeaf == to / perLeaf ? 2 : 4;
    }

    std::unique_ptr<Route> Path(uint32_t from, uint32_t to, uint64_t flow, PacketSink& end) const
    {
        std::unique_ptr<Route> route(new Route());
        const auto cross = [&](const Link& link) {
            route->push_back(link.queue.get());
            route->push_back(link.pipe.get());
        };
        const uint32_t leaf = from / perLeaf;
        cross(fromHost[from]);
        if (Hops(from, to) == 4)
        {
            const uint32_t spine = EcmpIndex(FlowHash(from, to, flow), leaves * perLeaf + leaf, spines);
            cross(up[leaf * spines + spine]);
            cross(down[to / perLeaf * spines + spine]);
        }
        cross(toHost[to]);
        route->push_back(&end);
        return route;
    }
};

uint64_t g_hops = 0;
uint64_t g_packets = 0;
uint64_t g_open = 0;

// What both transports have in common.
struct Flow
{
    uint64_t start;
    uint32_t source;
    uint32_t destination;
    uint64_t bytes;
    uint32_t hops;
    uint64_t fct = 0;
    std::unique_ptr<Route> out, back;
    std::unique_ptr<PacketSink> sender, receiver;
};

// The end of datagrams, and what they are counted by.
class DatagramSink : public PacketSink
{
  public:
    DatagramSink(Flow& flow)
        : m_flow(flow),
          m_name("datagrams"),
          m_left(flow.bytes),
          m_of(nullptr)
    {
    }

    // The whole flow goes to the first queue.
    void Send()
    {
        for (uint64_t left = m_left; left > 0;)
        {
            const uint64_t payload = std::min(left, kDatagramPayload);
            TcpPacket::newpkt(m_of, *m_flow.out, 1, payload + kWire - kDatagramPayload)->sendOn();
            left -= payload;
        }
    }

    void receivePacket(Packet& packet) override
    {
        m_left -= packet.size() - (kWire - kDatagramPayload);
        packet.free();
        ++g_packets;
        g_hops += m_flow.hops;
        if (m_left == 0)
        {
            m_flow.fct = EventList::now() - m_flow.start;
            --g_open;
        }
    }

    const string& nodename() override
    {
        return m_name;
    }

  private:
    Flow& m_flow;
    string m_name;
    uint64_t m_left;
    PacketFlow m_of;
};

// Both ends of TCP, which count packets and note when the last byte arrives.
// htsim has segments of one size only: the last one is full, too.
class Receiver : public TcpSink
{
  public:
    Receiver(Flow& flow)
        : m_flow(flow)
    {
    }

    void receivePacket(Packet& packet) override
    {
        ++g_packets;
        g_hops += m_flow.hops;
        TcpSink::receivePacket(packet);
        const uint64_t segments = (m_flow.bytes + kSegmentPayload - 1) / kSegmentPayload;
        // The SYN is a byte.
        if (m_flow.fct == 0 && _cumulative_ack == 1 + segments * kWire)
        {
            m_flow.fct = EventList::now() - m_flow.start;
        }
    }

  private:
    Flow& m_flow;
};

class Sender : public TcpSrc
{
  public:
    Sender(Flow& flow, EventList& events)
        : TcpSrc(nullptr, nullptr, events),
          m_flow(flow)
    {
        const uint64_t segments = (flow.bytes + kSegmentPayload - 1) / kSegmentPayload;
        // Another segment is sent while no more than this and a byte were sent.
        _flow_size = segments * kWire - 1;
        set_ssthresh(UINT32_MAX);
    }

    void receivePacket(Packet& packet) override
    {
        ++g_packets;
        g_hops += m_flow.hops;
        TcpSrc::receivePacket(packet);
        if (!m_done && _last_acked > _flow_size)
        {
            m_done = true;
            --g_open;
        }
    }

  private:
    Flow& m_flow;
    bool m_done = false;
};

std::vector<Flow> g_flows;

// Starts one flow after the other.
class Starter : public EventSource
{
  public:
    Starter(const Fabric& fabric, bool tcp, EventList& events)
        : EventSource(events, "starter"),
          m_fabric(fabric),
          m_tcp(tcp),
          m_timers(timeFromMs(10.0), events)
    {
        events.sourceIsPending(*this, g_flows[0].start);
    }

    void doNextEvent() override
    {
        Flow& flow = g_flows[m_next];
        const auto path = [&](uint32_t from, uint32_t to, PacketSink& end) {
            return m_fabric.Path(from, to, m_next, end);
        };
        if (m_tcp)
        {
            Receiver* receiver = new Receiver(flow);
            Sender* sender = new Sender(flow, eventlist());
            flow.receiver.reset(receiver);
            flow.sender.reset(sender);
            flow.out = path(flow.source, flow.destination, *receiver);
            flow.back = path(flow.destination, flow.source, *sender);
            m_timers.registerTcp(*sender);
            sender->connect(*flow.out, *flow.back, *receiver, flow.start);
        }
        else
        {
            DatagramSink* sink = new DatagramSink(flow);
            flow.receiver.reset(sink);
            flow.out = path(flow.source, flow.destination, *sink);
            sink->Send();
        }
        if (++m_next < g_flows.size())
        {
            eventlist().sourceIsPending(*this, g_flows[m_next].start);
        }
    }

  private:
    const Fabric& m_fabric;
    bool m_tcp;
    size_t m_next = 0;
    TcpRtxTimerScanner m_timers;
};

void
ReadFlows(const char* path, const Fabric& fabric)
{
    std::FILE* file = std::fopen(path, "r");
    char line[256];
    if (!file || !std::fgets(line, sizeof line, file))
    {
        Fail(std::string("cannot read ") + path);
    }
    const uint32_t hosts = fabric.leaves * fabric.perLeaf;
    while (std::fgets(line, sizeof line, file))
    {
        Flow flow;
        if (std::sscanf(line,
                        "%" SCNu64 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64,
                        &flow.start,
                        &flow.source,
                        &flow.destination,
                        &flow.bytes) != 4 ||
            flow.source >= hosts || flow.destination >= hosts || flow.bytes == 0)
        {
            Fail(std::string("invalid flow: ") + line);
        }
        flow.hops = fabric.Hops(flow.source, flow.destination);
        g_flows.push_back(std::move(flow));
    }
    std::fclose(file);
    g_open = g_flows.size();
    if (g_open == 0)
    {
        Fail("no flows");
    }
}

double
CpuSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 7 || (std::strcmp(argv[4], "datagrams") != 0 && std::strcmp(argv[4], "tcp") != 0))
    {
        Fail("usage: peer LEAVES HOSTS_PER_LEAF SPINES datagrams|tcp LIST.csv FCT.csv");
    }
    const auto number = [&](int i) { return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)); };
    EventList& events = EventList::getTheEventList();
    Packet::set_packet_size(kWire);
    const Fabric fabric(number(1), number(2), number(3), events);
    ReadFlows(argv[5], fabric);
    // TcpSrc writes a line for each flow.
    std::cout.setstate(std::ios::failbit);
    Starter starter(fabric, std::strcmp(argv[4], "tcp") == 0, events);

    const double before = CpuSeconds();
    while (g_open > 0 && EventList::doNextEvent())
    {
    }
    const double cpu = CpuSeconds() - before;

    std::FILE* out = std::fopen(argv[6], "w");
    if (!out)
    {
        Fail(std::string("cannot write ") + argv[6]);
    }
    std::fputs("flow,fct_ps\n", out);
    for (size_t id = 0; id < g_flows.size(); ++id)
    {
        if (g_flows[id].fct == 0)
        {
            Fail("a flow did not complete");
        }
        std::fprintf(out, "%zu,%" PRIu64 "\n", id, g_flows[id].fct);
    }
    std::fclose(out);
    std::printf("{\"engine\":\"htsim\",\"packet_hops\":%" PRIu64
                ",\"cpu_s\":%.6f,\"packet_hops_per_cpu_s\":%.0f,\"flows\":%zu,\"packets\":%" PRIu64
                "}\n",
                g_hops,
                cpu,
                g_hops / cpu,
                g_flows.size(),
                g_packets);
    // Without destructors: packets may still be on the links.
    std::fflush(stdout);
    std::_Exit(0);
}
