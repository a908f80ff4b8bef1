// SPDX-License-Identifier: GPL-2.0-only
//
// This file is an optional benchmark. It links ns-3, is licensed on its own
// terms as stated above, and is not part of the project that is offered under
// the Apache-2.0 and MIT licences.
//
// TCP of ns-3 over one bottleneck: each flow has a sender of its own behind a
// switch, whose link to the receiver has a rate, a delay, a bounded queue that
// can mark, and random losses. See README.md beside this file.

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace
{

using namespace ns3;

constexpr uint32_t kMtu = 1500;
constexpr uint32_t kMss = kMtu - 40;
// PPP adds these to each packet. The link is so much faster that full packets
// take as long as without them.
constexpr uint32_t kPppHeader = 2;
constexpr uint16_t kFirstPort = 5000;
// How long flows of known size may take beyond the run, in seconds.
constexpr double kPatience = 20;
constexpr uint64_t kSampleMs = 10;

[[noreturn]] void
Fail(const std::string& why)
{
    std::fprintf(stderr, "tcp: %s\n", why.c_str());
    std::exit(1);
}

// A FIFO in front of a link. Its backlog is what the link has still to send,
// including the rest of the packet that it is sending. Packets that do not fit
// are dropped; packets that find the threshold reached are marked if they are
// ECN-capable.
class LinkQueue : public QueueDisc
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("LinkQueue").SetParent<QueueDisc>().AddConstructor<LinkQueue>();
        return tid;
    }

    LinkQueue()
        : QueueDisc(QueueDiscSizePolicy::NO_LIMITS)
    {
    }

    // A threshold of 0 marks nothing.
    void Configure(uint64_t bps, uint64_t limitBytes, uint64_t markBytes)
    {
        m_rate = DataRate(bps);
        m_limit = m_rate.CalculateBytesTxTime(limitBytes);
        m_mark = m_rate.CalculateBytesTxTime(markBytes);
    }

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override
    {
        const Time now = Simulator::Now();
        const Time begin = std::max(m_idleAt, now);
        const Time end = begin + m_rate.CalculateBytesTxTime(item->GetSize());
        if (end - now > m_limit)
        {
            DropBeforeEnqueue(item, "full");
            return false;
        }
        if (m_mark.IsStrictlyPositive() && begin - now >= m_mark)
        {
            Mark(item, "threshold");
        }
        m_idleAt = end;
        return GetInternalQueue(0)->Enqueue(item);
    }

    Ptr<QueueDiscItem> DoDequeue() override
    {
        return GetInternalQueue(0)->Dequeue();
    }

    bool CheckConfig() override
    {
        if (GetNInternalQueues() == 0)
        {
            AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>(
                "MaxSize",
                QueueSizeValue(QueueSize("10000000p"))));
        }
        return true;
    }

    void InitializeParams() override
    {
    }

    DataRate m_rate;
    Time m_limit;
    Time m_mark;
    Time m_idleAt;
};

NS_OBJECT_ENSURE_REGISTERED(LinkQueue);

struct Flow
{
    double startUs = 0;
    // 0: it sends until the run ends.
    uint64_t bytes = 0;
    uint64_t left = 0;
    uint64_t received = 0;
    // What the receiver had at the end of the run.
    uint64_t inTime = 0;
    double fctUs = -1;
    Ptr<Socket> sender;
    Ptr<Socket> listener;
};

std::vector<Flow> g_flows;
std::vector<double> g_windows;
Time g_end;
uint32_t g_window = 0;
uint64_t g_unfinished = 0;
uint64_t g_timeouts = 0;
uint64_t g_recoveries = 0;
uint64_t g_lost = 0;

void
Fill(size_t id, Ptr<Socket> socket)
{
    Flow& flow = g_flows[id];
    while (flow.left > 0 && (flow.bytes > 0 || Simulator::Now() < g_end))
    {
        const uint64_t room = std::min<uint64_t>(socket->GetTxAvailable(), 64 * kMss);
        const uint64_t chunk = std::min(flow.left, room);
        if (chunk == 0 || socket->Send(Create<Packet>(static_cast<uint32_t>(chunk))) < 0)
        {
            return;
        }
        flow.left -= chunk;
    }
}

void
Receive(size_t id, Ptr<Socket> socket)
{
    Flow& flow = g_flows[id];
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        flow.received += packet->GetSize();
    }
    if (Simulator::Now() <= g_end)
    {
        flow.inTime = flow.received;
    }
    if (flow.bytes > 0 && flow.received >= flow.bytes && flow.fctUs < 0)
    {
        flow.fctUs = Simulator::Now().GetSeconds() * 1e6 - flow.startUs;
        if (--g_unfinished == 0 && Simulator::Now() >= g_end)
        {
            Simulator::Stop();
        }
    }
}

void
CountStates(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_timeouts += now == TcpSocketState::CA_LOSS;
    g_recoveries += now == TcpSocketState::CA_RECOVERY;
}

void
Start(size_t id, Ptr<Node> node, Ipv4Address receiver)
{
    Flow& flow = g_flows[id];
    flow.left = flow.bytes > 0 ? flow.bytes : UINT64_MAX;
    flow.sender = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    flow.sender->TraceConnectWithoutContext("CongState", MakeCallback(&CountStates));
    if (id == 0)
    {
        flow.sender->TraceConnectWithoutContext(
            "CongestionWindow",
            Callback<void, uint32_t, uint32_t>([](uint32_t, uint32_t now) { g_window = now; }));
    }
    flow.sender->SetConnectCallback([id](Ptr<Socket> socket) { Fill(id, socket); },
                                    [](Ptr<Socket>) { Fail("a connection failed"); });
    flow.sender->SetSendCallback([id](Ptr<Socket> socket, uint32_t) { Fill(id, socket); });
    flow.sender->Connect(InetSocketAddress(receiver, static_cast<uint16_t>(kFirstPort + id)));
}

void
Listen(size_t id, Ptr<Node> node)
{
    Ptr<Socket> listener = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), static_cast<uint16_t>(kFirstPort + id)));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                [id](Ptr<Socket> socket, const Address&) {
                                    socket->SetRecvCallback(
                                        [id](Ptr<Socket> from) { Receive(id, from); });
                                });
    g_flows[id].listener = listener;
}

void
Sample()
{
    g_windows.push_back(static_cast<double>(g_window) / kMss);
    const Time next = MilliSeconds(kSampleMs);
    if (Simulator::Now() + next <= g_end)
    {
        Simulator::Schedule(next, &Sample);
    }
}

// Lines of standard input: when a flow starts, in us, and its bytes.
void
ReadFlows()
{
    Flow flow;
    while (std::cin >> flow.startUs >> flow.bytes)
    {
        g_flows.push_back(flow);
        g_unfinished += flow.bytes > 0;
    }
    if (!std::cin.eof() || g_flows.empty())
    {
        Fail("invalid flows: expected lines of two numbers, a start in us and bytes");
    }
}

// Defaults of attributes, which options of the command line may override.
void
SetDefaults()
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(8 << 20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

struct Link
{
    uint64_t rateBps = 50'000'000;
    double delayUs = 10'000;
    uint64_t queueBytes = 100 * kMtu;
    uint64_t markBytes = 0;
    double loss = 0;
};

// Connects all senders and the receiver, the last node, to a switch. Returns
// the queue in front of the bottleneck, and the receiver's address.
std::pair<Ptr<QueueDisc>, Ipv4Address>
Build(const Link& wanted, const NodeContainer& senders, Ptr<Node> receiver)
{
    Ptr<Node> bridge = CreateObject<Node>();
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(senders);
    internet.Install(bridge);
    internet.Install(receiver);
    Ipv4StaticRoutingHelper routing;
    const auto gateway = [&](Ptr<Node> node, Ipv4Address address) {
        routing.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(address, 1);
    };
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");

    PointToPointHelper fast;
    fast.DisableFlowControl();
    fast.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("10000000p"));
    fast.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    fast.SetChannelAttribute("Delay", TimeValue(MicroSeconds(1)));
    for (uint32_t id = 0; id < senders.GetN(); ++id)
    {
        const auto ends = addresses.Assign(fast.Install(senders.Get(id), bridge));
        gateway(senders.Get(id), ends.GetAddress(1));
        addresses.NewNetwork();
    }

    PointToPointHelper slow;
    slow.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    const auto lineRate = std::llround(static_cast<double>(wanted.rateBps) * (kMtu + kPppHeader) / kMtu);
    slow.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(lineRate))));
    slow.SetChannelAttribute("Delay", TimeValue(NanoSeconds(std::llround(1e3 * (wanted.delayUs - 1)))));
    const NetDeviceContainer devices = slow.Install(bridge, receiver);
    TrafficControlHelper control;
    control.SetRootQueueDisc("LinkQueue");
    const QueueDiscContainer queues = control.Install(devices);
    for (uint32_t end = 0; end < 2; ++end)
    {
        DynamicCast<LinkQueue>(queues.Get(end))
            ->Configure(wanted.rateBps, wanted.queueBytes, wanted.markBytes);
        Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_BYTE);
        errors->SetRate(-std::expm1(std::log1p(-wanted.loss) / (kMtu + kPppHeader)));
        errors->AssignStreams(100 + end);
        devices.Get(end)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
        devices.Get(end)->TraceConnectWithoutContext(
            "PhyRxDrop",
            Callback<void, Ptr<const Packet>>([](Ptr<const Packet>) { ++g_lost; }));
    }
    const auto ends = addresses.Assign(devices);
    gateway(receiver, ends.GetAddress(0));
    return {queues.Get(0), ends.GetAddress(1)};
}

void
Print(const QueueDisc::Stats& queue)
{
    std::printf("{\"flows\":[");
    for (size_t id = 0; id < g_flows.size(); ++id)
    {
        const Flow& flow = g_flows[id];
        std::printf("%s{\"in_time\":%" PRIu64 ",\"fct_us\":", id > 0 ? "," : "", flow.inTime);
        std::printf(flow.fctUs < 0 ? "null}" : "%.3f}", flow.fctUs);
    }
    std::printf("],\"windows\":[");
    for (size_t i = 0; i < g_windows.size(); ++i)
    {
        std::printf("%s%.3f", i > 0 ? "," : "", g_windows[i]);
    }
    std::printf("],\"dropped\":%u,\"marked\":%u,\"lost\":%" PRIu64 ",\"recoveries\":%" PRIu64
                ",\"timeouts\":%" PRIu64 "}\n",
                queue.nTotalDroppedPackets,
                queue.nTotalMarkedPackets,
                g_lost,
                g_recoveries,
                g_timeouts);
}

} // namespace

int
main(int argc, char** argv)
{
    Link link;
    double seconds = 20;
    uint32_t run = 1;
    bool ecn = false;
    std::string congestion = "TcpCubic";
    CommandLine cmd;
    cmd.Usage("TCP over one bottleneck. Reads flows from standard input, a start in us and bytes a "
              "line (0: until the run ends); writes JSON.");
    cmd.AddValue("congestion", "TcpLinuxReno, TcpNewReno, TcpCubic, TcpBbr or TcpDctcp", congestion);
    cmd.AddValue("rate", "of the bottleneck, in b/s", link.rateBps);
    cmd.AddValue("delay", "of one way, in us", link.delayUs);
    cmd.AddValue("queue", "bytes of IP packets that the queue holds", link.queueBytes);
    cmd.AddValue("mark", "backlog in bytes from which packets are marked; 0: never", link.markBytes);
    cmd.AddValue("loss", "share of full packets that are lost", link.loss);
    cmd.AddValue("ecn", "whether hosts use ECN", ecn);
    cmd.AddValue("seconds", "simulated time", seconds);
    cmd.AddValue("run", "number of the random stream", run);
    SetDefaults();
    cmd.Parse(argc, argv);
    ReadFlows();
    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + congestion)));
    if (ecn)
    {
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    }

    NodeContainer senders;
    senders.Create(static_cast<uint32_t>(g_flows.size()));
    Ptr<Node> receiver = CreateObject<Node>();
    const auto [queue, address] = Build(link, senders, receiver);
    g_end = Seconds(seconds);
    for (size_t id = 0; id < g_flows.size(); ++id)
    {
        Listen(id, receiver);
        Simulator::Schedule(NanoSeconds(std::llround(1e3 * g_flows[id].startUs)),
                            &Start,
                            id,
                            senders.Get(static_cast<uint32_t>(id)),
                            address);
    }
    Simulator::Schedule(MilliSeconds(kSampleMs), &Sample);
    // Only flows of known size may go on after the end.
    Simulator::Schedule(g_end, [] {
        if (g_unfinished == 0)
        {
            Simulator::Stop();
        }
    });
    Simulator::Stop(g_end + Seconds(kPatience));
    Simulator::Run();
    Print(queue->GetStats());
    g_flows.clear();
    Simulator::Destroy();
    return 0;
}
