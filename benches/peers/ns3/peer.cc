// SPDX-License-Identifier: GPL-2.0-only
//
// This file is an optional benchmark. It links ns-3, is licensed on its own
// terms as stated above, and is not part of the project that is offered under
// the Apache-2.0 and MIT licences.
//
// Reads a list of flows, simulates it packet by packet with ns-3 and writes
// when each flow completed. See README.md beside this file.

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#ifndef PEER_NS3_VERSION
#define PEER_NS3_VERSION "3"
#endif

namespace
{

using namespace ns3;

constexpr uint32_t kIpHeader = 20;
constexpr uint32_t kUdpHeader = 8;
constexpr uint32_t kTcpHeader = 20;
constexpr uint32_t kPppHeader = 2;
constexpr uint8_t kUdpProtocol = 17;
// Host h owns the address 10.0.0.0 + h + 1.
constexpr uint32_t kFirstAddress = 0x0a000001;
constexpr uint64_t kMaxHosts = (1u << 24) - 2;
// With TCP, all hosts listen at one port, and flow f has the port kFirstPort + f
// at its source.
constexpr uint16_t kListenPort = 1;
constexpr uint32_t kFirstPort = 1024;

[[noreturn]] __attribute__((format(printf, 1, 2))) void
Fail(const char* format, ...)
{
    std::fputs("peer: ", stderr);
    va_list args;
    va_start(args, format);
    std::vfprintf(stderr, format, args);
    va_end(args);
    std::fputc('\n', stderr);
    std::exit(1);
}

// ---------------------------------------------------------------------------
// The documented path choice.

uint64_t
Mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    return x;
}

uint32_t
FlowHash(uint32_t source, uint32_t destination, uint64_t flow, uint64_t salt)
{
    const uint64_t pair = (uint64_t{source} << 32) | destination;
    return static_cast<uint32_t>(Mix64(Mix64(pair) ^ flow ^ salt) >> 32);
}

uint32_t
PickPath(uint32_t flowHash, uint32_t switchNode, uint32_t candidates)
{
    const uint64_t here = (uint64_t{switchNode} + 1) * 0x9e3779b97f4a7c15ull;
    const uint64_t drawn = Mix64(flowHash ^ here) >> 32;
    return static_cast<uint32_t>((drawn * candidates) >> 32);
}

// ---------------------------------------------------------------------------
// What is simulated. A tree is a leaf-spine with one spine, and a single
// switch is one leaf without a spine; the node numbers agree.

struct Fabric
{
    uint32_t leaves = 0;
    uint32_t hostsPerLeaf = 0;
    uint32_t spines = 0;

    uint32_t Hosts() const
    {
        return leaves * hostsPerLeaf;
    }

    uint32_t Nodes() const
    {
        return Hosts() + leaves + spines;
    }

    // Ports of a leaf: its hosts in order, then the spines in order.
    // Ports of a spine: the leaves in order.
    uint32_t Port(uint32_t node, uint32_t destination, uint32_t flowHash) const
    {
        const uint32_t leaf = destination / hostsPerLeaf;
        const uint32_t ordinal = node - Hosts();
        if (ordinal >= leaves)
        {
            return leaf;
        }
        if (ordinal == leaf)
        {
            return destination - leaf * hostsPerLeaf;
        }
        return hostsPerLeaf + PickPath(flowHash, node, spines);
    }
};

struct Flow
{
    int64_t start;
    uint64_t remaining;
    int64_t fct;
    uint32_t source;
    uint32_t destination;
    uint32_t hash;
    // Of acknowledgements.
    uint32_t backHash;
    // TCP: bytes that wait for room in the send buffer.
    uint64_t unsent;
};

Fabric g_fabric;
std::vector<Flow> g_flows;
uint32_t g_payload = 0;
uint64_t g_sent = 0;
uint64_t g_completed = 0;

// The flow number travels in the UDP ports: low half in the source port, high
// half in the destination port.
uint32_t
FlowFromPorts(const uint8_t* udp)
{
    const uint32_t low = (uint32_t{udp[0]} << 8) | udp[1];
    const uint32_t high = (uint32_t{udp[2]} << 8) | udp[3];
    return (high << 16) | low;
}

uint32_t
HashOfDatagram(const uint8_t* udp)
{
    return g_flows[FlowFromPorts(udp)].hash;
}

// Data has a flow's port as its source, acknowledgements as their destination.
uint32_t
HashOfSegment(const uint8_t* tcp)
{
    const uint32_t from = (uint32_t{tcp[0]} << 8) | tcp[1];
    const uint32_t to = (uint32_t{tcp[2]} << 8) | tcp[3];
    return from == kListenPort ? g_flows[to - kFirstPort].backHash : g_flows[from - kFirstPort].hash;
}

uint32_t (*g_hashOfPorts)(const uint8_t* header) = &HashOfDatagram;

Ipv4Address
AddressOf(uint32_t host)
{
    return Ipv4Address(kFirstAddress + host);
}

void
Deliver(uint32_t host, uint32_t flowId, uint32_t bytes)
{
    Flow& flow = g_flows.at(flowId);
    if (flow.destination != host || flow.remaining < bytes)
    {
        Fail("flow %u: unexpected %u bytes at host %u", flowId, bytes, host);
    }
    flow.remaining -= bytes;
    if (flow.remaining == 0)
    {
        flow.fct = Simulator::Now().GetTimeStep() - flow.start;
        ++g_completed;
    }
}

Ipv4Header
MakeIpHeader(const Flow& flow, uint32_t payload)
{
    Ipv4Header ip;
    ip.SetSource(AddressOf(flow.source));
    ip.SetDestination(AddressOf(flow.destination));
    ip.SetProtocol(kUdpProtocol);
    ip.SetTtl(64);
    ip.SetDontFragment();
    ip.SetPayloadSize(static_cast<uint16_t>(payload + kUdpHeader));
    return ip;
}

Ptr<Packet>
MakeDatagram(uint32_t flowId, uint32_t payload)
{
    Ptr<Packet> packet = Create<Packet>(payload);
    UdpHeader udp;
    udp.SetSourcePort(static_cast<uint16_t>(flowId));
    udp.SetDestinationPort(static_cast<uint16_t>(flowId >> 16));
    packet->AddHeader(udp);
    return packet;
}

// ---------------------------------------------------------------------------
// --stack ipv4: every node runs the Internet stack; only the routing decision
// and the transport's end are this program's.

class PathRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("peer::PathRouting").SetParent<Ipv4RoutingProtocol>();
        return tid;
    }

    void SetNode(uint32_t node)
    {
        m_node = node;
    }

    void AddPort(Ptr<NetDevice> device)
    {
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        if (m_node < g_fabric.Hosts())
        {
            route->SetSource(AddressOf(m_node));
        }
        route->SetGateway(Ipv4Address::GetAny());
        route->SetOutputDevice(device);
        m_ports.push_back(route);
    }

    Ptr<Ipv4Route> Uplink() const
    {
        return m_ports.front();
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>,
                               const Ipv4Header&,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return m_ports.front();
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice>,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        if (m_node < g_fabric.Hosts())
        {
            deliver(packet, header, 1); // interface 0 is the loopback
            return true;
        }
        uint8_t ports[4];
        packet->CopyData(ports, sizeof ports);
        const uint32_t destination = header.GetDestination().Get() - kFirstAddress;
        const uint32_t hash = g_hashOfPorts(ports);
        forward(m_ports[g_fabric.Port(m_node, destination, hash)], packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void SetIpv4(Ptr<Ipv4>) override
    {
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  protected:
    void DoDispose() override
    {
        m_ports.clear();
        Ipv4RoutingProtocol::DoDispose();
    }

  private:
    uint32_t m_node = 0;
    std::vector<Ptr<Ipv4Route>> m_ports;
};

class PathRoutingHelper : public Ipv4RoutingHelper
{
  public:
    PathRoutingHelper* Copy() const override
    {
        return new PathRoutingHelper(*this);
    }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override
    {
        return CreateObject<PathRouting>();
    }
};

// The receiving end takes the place of ns-3's UDP so that one receiver serves
// any number of flows without a search over sockets.
class Receiver : public IpL4Protocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("peer::Receiver").SetParent<IpL4Protocol>();
        return tid;
    }

    void SetHost(uint32_t host)
    {
        m_host = host;
    }

    int GetProtocolNumber() const override
    {
        return kUdpProtocol;
    }

    RxStatus Receive(Ptr<Packet> packet, const Ipv4Header&, Ptr<Ipv4Interface>) override
    {
        uint8_t ports[4];
        packet->CopyData(ports, sizeof ports);
        Deliver(m_host, FlowFromPorts(ports), packet->GetSize() - kUdpHeader);
        return RX_OK;
    }

    RxStatus Receive(Ptr<Packet>, const Ipv6Header&, Ptr<Ipv6Interface>) override
    {
        return RX_ENDPOINT_UNREACH;
    }

    void SetDownTarget(DownTargetCallback) override
    {
    }

    void SetDownTarget6(DownTargetCallback6) override
    {
    }

    DownTargetCallback GetDownTarget() const override
    {
        return DownTargetCallback();
    }

    DownTargetCallback6 GetDownTarget6() const override
    {
        return DownTargetCallback6();
    }

  private:
    uint32_t m_host = 0;
};

struct HostStack
{
    Ptr<Ipv4> ipv4;
    Ptr<Ipv4Route> uplink;
};

std::vector<HostStack> g_hostStacks;

void
SendOverIpv4(uint32_t flowId, uint32_t payload)
{
    const Flow& flow = g_flows[flowId];
    const HostStack& host = g_hostStacks[flow.source];
    host.ipv4->SendWithHeader(MakeDatagram(flowId, payload),
                              MakeIpHeader(flow, payload),
                              host.uplink);
}

using Ports = std::vector<std::vector<Ptr<NetDevice>>>;

void
InstallIpv4(const NodeContainer& nodes, const Ports& ports, bool tcp)
{
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.SetRoutingHelper(PathRoutingHelper());
    internet.Install(nodes);
    for (uint32_t n = 0; n < g_fabric.Nodes(); ++n)
    {
        Ptr<Node> node = nodes.Get(n);
        Ptr<Ipv4> ipv4 = node->GetObject<Ipv4>();
        Ptr<PathRouting> routing = DynamicCast<PathRouting>(ipv4->GetRoutingProtocol());
        routing->SetNode(n);
        for (const Ptr<NetDevice>& device : ports[n])
        {
            const uint32_t interface = ipv4->AddInterface(device);
            if (n < g_fabric.Hosts())
            {
                const Ipv4Mask mask("255.0.0.0");
                ipv4->AddAddress(interface, Ipv4InterfaceAddress(AddressOf(n), mask));
            }
            ipv4->SetUp(interface);
            routing->AddPort(device);
        }
        if (n < g_fabric.Hosts() && !tcp)
        {
            Ptr<Receiver> receiver = CreateObject<Receiver>();
            receiver->SetHost(n);
            ipv4->Insert(receiver);
            g_hostStacks.push_back({ipv4, routing->Uplink()});
        }
    }
}

// ---------------------------------------------------------------------------
// --stack tcp: the whole Internet stack of ns-3. Each flow is a connection.

NodeContainer g_nodes;

void
ReceiveStream(uint32_t flowId, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        Deliver(g_flows[flowId].destination, flowId, packet->GetSize());
    }
}

// Without closing, each packet would search all connections that there were.
void
Accept(Ptr<Socket> socket, const Address& peer)
{
    const uint32_t flowId = InetSocketAddress::ConvertFrom(peer).GetPort() - kFirstPort;
    socket->SetRecvCallback([flowId](Ptr<Socket> from) { ReceiveStream(flowId, from); });
    socket->SetCloseCallbacks([](Ptr<Socket> from) { from->Close(); },
                              [](Ptr<Socket>) { Fail("a connection failed"); });
}

void
Listen(uint32_t host)
{
    Ptr<Socket> socket = Socket::CreateSocket(g_nodes.Get(host), TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kListenPort));
    socket->Listen();
    socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                              MakeCallback(&Accept));
}

void
FillStream(uint32_t flowId, Ptr<Socket> socket)
{
    Flow& flow = g_flows[flowId];
    while (flow.unsent > 0)
    {
        const uint64_t chunk = std::min<uint64_t>(flow.unsent, socket->GetTxAvailable());
        if (chunk == 0 || socket->Send(Create<Packet>(static_cast<uint32_t>(chunk))) < 0)
        {
            return;
        }
        flow.unsent -= chunk;
        if (flow.unsent == 0)
        {
            socket->Close();
        }
    }
}

void
Connect(uint32_t flowId)
{
    const Flow& flow = g_flows[flowId];
    Ptr<Socket> socket =
        Socket::CreateSocket(g_nodes.Get(flow.source), TcpSocketFactory::GetTypeId());
    socket->Bind(
        InetSocketAddress(AddressOf(flow.source), static_cast<uint16_t>(kFirstPort + flowId)));
    socket->SetConnectCallback([flowId](Ptr<Socket> from) { FillStream(flowId, from); },
                               [](Ptr<Socket>) { Fail("a connection was refused"); });
    socket->SetSendCallback([flowId](Ptr<Socket> from, uint32_t) { FillStream(flowId, from); });
    socket->Connect(InetSocketAddress(AddressOf(flow.destination), kListenPort));
}

void
ConfigureTcp(const std::string& congestion, uint32_t segment)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + congestion)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    // Closed connections leave soon: each packet searches those that there are.
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0.001));
}

// ---------------------------------------------------------------------------
// --stack device: the same packets, links and queues, but the nodes have no
// Internet stack: a received packet goes from device to device. This is the
// least work ns-3 can do for this simulation.

Ports g_ports;

void
SendOverDevice(uint32_t flowId, uint32_t payload)
{
    const Flow& flow = g_flows[flowId];
    Ptr<Packet> packet = MakeDatagram(flowId, payload);
    packet->AddHeader(MakeIpHeader(flow, payload));
    const Ptr<NetDevice>& device = g_ports[flow.source].front();
    device->Send(packet, device->GetBroadcast(), Ipv4L3Protocol::PROT_NUMBER);
}

bool
ReceiveAtHost(uint32_t host, Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    uint8_t headers[kIpHeader + 4];
    packet->CopyData(headers, sizeof headers);
    Deliver(host, FlowFromPorts(headers + kIpHeader), packet->GetSize() - kIpHeader - kUdpHeader);
    return true;
}

bool
ReceiveAtSwitch(uint32_t node,
                Ptr<NetDevice>,
                Ptr<const Packet> packet,
                uint16_t protocol,
                const Address& from)
{
    uint8_t headers[kIpHeader + 4];
    packet->CopyData(headers, sizeof headers);
    const uint32_t address = (uint32_t{headers[16]} << 24) | (uint32_t{headers[17]} << 16) |
                             (uint32_t{headers[18]} << 8) | headers[19];
    const uint32_t hash = g_flows[FlowFromPorts(headers + kIpHeader)].hash;
    const uint32_t port = g_fabric.Port(node, address - kFirstAddress, hash);
    g_ports[node][port]->Send(packet->Copy(), from, protocol);
    return true;
}

void
InstallDeviceForwarding(const Ports& ports)
{
    g_ports = ports;
    for (uint32_t n = 0; n < g_fabric.Nodes(); ++n)
    {
        for (const Ptr<NetDevice>& device : ports[n])
        {
            device->SetReceiveCallback(n < g_fabric.Hosts()
                                           ? MakeBoundCallback(&ReceiveAtHost, n)
                                           : MakeBoundCallback(&ReceiveAtSwitch, n));
        }
    }
}

// ---------------------------------------------------------------------------
// One pending event starts the next flow of the list. Without TCP it sends the
// whole flow.

void (*g_send)(uint32_t flowId, uint32_t payload) = nullptr;

void
SendDatagrams(uint32_t flowId)
{
    for (uint64_t left = g_flows[flowId].remaining; left > 0;)
    {
        const uint32_t payload = static_cast<uint32_t>(std::min<uint64_t>(left, g_payload));
        g_send(flowId, payload);
        ++g_sent;
        left -= payload;
    }
}

void (*g_start)(uint32_t flowId) = &SendDatagrams;

void
StartFlow(uint32_t flowId)
{
    g_start(flowId);
    const uint32_t next = flowId + 1;
    if (next < g_flows.size())
    {
        const Time wait = TimeStep(g_flows[next].start) - Simulator::Now();
        Simulator::ScheduleWithContext(g_flows[next].source, wait, &StartFlow, next);
    }
}

// ---------------------------------------------------------------------------
// Files and the command line.

void
ReadFlows(const std::string& path, uint64_t salt)
{
    std::FILE* file = std::fopen(path.c_str(), "r");
    if (!file)
    {
        Fail("cannot open %s", path.c_str());
    }
    char line[256];
    auto next = [&] {
        if (!std::fgets(line, sizeof line, file))
        {
            return false;
        }
        line[std::strcspn(line, "\r\n")] = '\0';
        return true;
    };
    if (!next() || std::strcmp(line, "start_ps,source,destination,size_bytes") != 0)
    {
        Fail("%s: the first line must be start_ps,source,destination,size_bytes", path.c_str());
    }
    int64_t previous = 0;
    while (next())
    {
        const uint64_t id = g_flows.size();
        int64_t start;
        uint64_t source;
        uint64_t destination;
        uint64_t size;
        int used = 0;
        const int fields = std::sscanf(line,
                                       "%" SCNd64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 "%n",
                                       &start,
                                       &source,
                                       &destination,
                                       &size,
                                       &used);
        const uint32_t hosts = g_fabric.Hosts();
        if (fields != 4 || line[used] != '\0' || std::strchr(line, '-') || start < previous ||
            source >= hosts || destination >= hosts || source == destination || size == 0 ||
            id > UINT32_MAX)
        {
            Fail("%s: flow %" PRIu64 " is malformed, out of order, out of range or empty: %s",
                 path.c_str(),
                 id,
                 line);
        }
        previous = start;
        const auto from = static_cast<uint32_t>(source);
        const auto to = static_cast<uint32_t>(destination);
        const uint32_t hash = FlowHash(from, to, id, salt);
        g_flows.push_back({start, size, -1, from, to, hash, FlowHash(to, from, id, salt), size});
    }
    std::fclose(file);
    if (g_flows.empty())
    {
        Fail("%s: no flows", path.c_str());
    }
}

void
WriteCompletions(const std::string& path)
{
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (!file)
    {
        Fail("cannot write %s", path.c_str());
    }
    std::fputs("flow,fct_ps\n", file);
    for (size_t id = 0; id < g_flows.size(); ++id)
    {
        std::fprintf(file, "%zu,%" PRId64 "\n", id, g_flows[id].fct);
    }
    if (std::fclose(file) != 0)
    {
        Fail("cannot write %s", path.c_str());
    }
}

const char kUsage[] =
    "usage: peer --topology leaf-spine --leaves L --hosts-per-leaf K --spines S [options]\n"
    "       peer --topology tree --edges E --hosts-per-edge K [options]\n"
    "       peer --topology switch --hosts N [options]\n"
    "options (default):\n"
    "  --flows FILE            flow list to read (required)\n"
    "  --out FILE              completion times to write (required)\n"
    "  --host-rate RATE        rate of host links (1Gbps)\n"
    "  --uplink-rate RATE      rate of links between switches (10Gbps)\n"
    "  --propagation-ps N      propagation delay of every link (1000000)\n"
    "  --mtu N                 MTU of every device (1500)\n"
    "  --payload N             bytes of payload in a full packet (mtu - 30)\n"
    "  --salt N                salt of the path choice (0)\n"
    "  --stack ipv4|device|tcp forward in ns-3's IPv4 or between devices, or use TCP (ipv4)\n"
    "  --congestion NAME       congestion control of --stack tcp (TcpNewReno)\n"
    "  --scheduler NAME        ns-3's event list (ns3::MapScheduler)\n";

class Options
{
  public:
    Options(int argc, char** argv)
    {
        for (int i = 1; i < argc; i += 2)
        {
            const std::string name = argv[i];
            if (name == "--help" || name == "-h")
            {
                std::fputs(kUsage, stdout);
                std::exit(0);
            }
            if (name.compare(0, 2, "--") != 0 || i + 1 == argc)
            {
                Fail("expected an option and its value at %s\n%s", argv[i], kUsage);
            }
            m_values[name.substr(2)] = argv[i + 1];
        }
    }

    std::string Text(const std::string& name, const char* fallback = nullptr)
    {
        auto found = m_values.find(name);
        if (found == m_values.end())
        {
            if (!fallback)
            {
                Fail("--%s is required\n%s", name.c_str(), kUsage);
            }
            return fallback;
        }
        std::string value = found->second;
        m_values.erase(found);
        return value;
    }

    uint64_t Number(const std::string& name,
                    uint64_t least,
                    uint64_t most,
                    const char* fallback = nullptr)
    {
        const std::string text = Text(name, fallback);
        char* end = nullptr;
        errno = 0;
        const uint64_t value = std::strtoull(text.c_str(), &end, 0);
        if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
            value < least || value > most)
        {
            Fail("--%s: %s is not a number from %" PRIu64 " to %" PRIu64,
                 name.c_str(),
                 text.c_str(),
                 least,
                 most);
        }
        return value;
    }

    void RejectLeftovers() const
    {
        if (!m_values.empty())
        {
            Fail("--%s does not apply here\n%s", m_values.begin()->first.c_str(), kUsage);
        }
    }

  private:
    std::map<std::string, std::string> m_values;
};

Fabric
ReadFabric(Options& options)
{
    const std::string topology = options.Text("topology");
    uint64_t leaves = 1;
    uint64_t perLeaf = 0;
    uint64_t spines = 0;
    if (topology == "leaf-spine")
    {
        leaves = options.Number("leaves", 1, kMaxHosts);
        perLeaf = options.Number("hosts-per-leaf", 1, kMaxHosts);
        spines = options.Number("spines", 1, kMaxHosts);
    }
    else if (topology == "tree")
    {
        leaves = options.Number("edges", 1, kMaxHosts);
        perLeaf = options.Number("hosts-per-edge", 1, kMaxHosts);
        spines = 1;
    }
    else if (topology == "switch")
    {
        perLeaf = options.Number("hosts", 2, kMaxHosts);
    }
    else
    {
        Fail("unknown topology %s\n%s", topology.c_str(), kUsage);
    }
    if (leaves * perLeaf > kMaxHosts)
    {
        Fail("at most %" PRIu64 " hosts", kMaxHosts);
    }
    Fabric fabric;
    fabric.leaves = static_cast<uint32_t>(leaves);
    fabric.hostsPerLeaf = static_cast<uint32_t>(perLeaf);
    fabric.spines = static_cast<uint32_t>(spines);
    return fabric;
}

double
CpuSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int
Main(int argc, char** argv)
{
    Time::SetResolution(Time::PS);

    Options options(argc, argv);
    g_fabric = ReadFabric(options);
    const std::string flowsPath = options.Text("flows");
    const std::string outPath = options.Text("out");
    const DataRate hostRate(options.Text("host-rate", "1Gbps"));
    const DataRate uplinkRate(options.Text("uplink-rate", "10Gbps"));
    const Time propagation = TimeStep(options.Number("propagation-ps", 0, INT64_MAX, "1000000"));
    const auto mtu = static_cast<uint16_t>(options.Number("mtu", 68, UINT16_MAX, "1500"));
    const uint32_t headers = kIpHeader + kUdpHeader;
    const std::string fullPayload = std::to_string(mtu - headers - kPppHeader);
    g_payload =
        static_cast<uint32_t>(options.Number("payload", 1, mtu - headers, fullPayload.c_str()));
    const uint64_t salt = options.Number("salt", 0, UINT64_MAX, "0");
    const std::string stack = options.Text("stack", "ipv4");
    const std::string congestion = options.Text("congestion", "TcpNewReno");
    const std::string scheduler = options.Text("scheduler", "ns3::MapScheduler");
    options.RejectLeftovers();
    if (stack != "ipv4" && stack != "device" && stack != "tcp")
    {
        Fail("unknown stack %s\n%s", stack.c_str(), kUsage);
    }
    ReadFlows(flowsPath, salt);
    if (stack == "tcp")
    {
        if (kFirstPort + g_flows.size() - 1 > UINT16_MAX)
        {
            Fail("%s: too many flows for TCP: a port for each", flowsPath.c_str());
        }
        ConfigureTcp(congestion, g_payload + kUdpHeader - kTcpHeader);
    }

    ObjectFactory schedulerFactory;
    schedulerFactory.SetTypeId(scheduler);
    Simulator::SetScheduler(schedulerFactory);

    NodeContainer nodes;
    nodes.Create(g_fabric.Nodes());
    Ports ports(g_fabric.Nodes());
    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("4294967295p"));
    link.SetDeviceAttribute("Mtu", UintegerValue(mtu));
    link.SetChannelAttribute("Delay", TimeValue(propagation));
    auto connect = [&](uint32_t a, uint32_t b) {
        const NetDeviceContainer ends = link.Install(nodes.Get(a), nodes.Get(b));
        ports[a].push_back(ends.Get(0));
        ports[b].push_back(ends.Get(1));
    };
    const uint32_t hosts = g_fabric.Hosts();
    link.SetDeviceAttribute("DataRate", DataRateValue(hostRate));
    for (uint32_t host = 0; host < hosts; ++host)
    {
        connect(host, hosts + host / g_fabric.hostsPerLeaf);
    }
    link.SetDeviceAttribute("DataRate", DataRateValue(uplinkRate));
    for (uint32_t leaf = 0; leaf < g_fabric.leaves; ++leaf)
    {
        for (uint32_t spine = 0; spine < g_fabric.spines; ++spine)
        {
            connect(hosts + leaf, hosts + g_fabric.leaves + spine);
        }
    }
    if (stack == "tcp")
    {
        InstallIpv4(nodes, ports, true);
        g_nodes = nodes;
        g_hashOfPorts = &HashOfSegment;
        g_start = &Connect;
        for (uint32_t host = 0; host < hosts; ++host)
        {
            Listen(host);
        }
    }
    else if (stack == "ipv4")
    {
        InstallIpv4(nodes, ports, false);
        g_send = &SendOverIpv4;
    }
    else
    {
        InstallDeviceForwarding(ports);
        g_send = &SendOverDevice;
    }
    Simulator::ScheduleWithContext(g_flows[0].source, TimeStep(g_flows[0].start), &StartFlow, 0u);

    const double before = CpuSeconds();
    Simulator::Run();
    const double cpu = CpuSeconds() - before;

    // The queues are unbounded, so each packet that entered a device's queue
    // was transmitted on its link once the event list ran empty.
    uint64_t hops = 0;
    for (const auto& nodePorts : ports)
    {
        for (const Ptr<NetDevice>& device : nodePorts)
        {
            Ptr<Queue<Packet>> queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
            if (queue->GetNPackets() != 0 || queue->GetTotalDroppedPackets() != 0)
            {
                Fail("a queue dropped or kept packets");
            }
            hops += queue->GetTotalReceivedPackets();
        }
    }
    if (stack == "tcp")
    {
        for (uint32_t host = 0; host < hosts; ++host)
        {
            Ptr<NetDevice> device = ports[host].front();
            Ptr<Queue<Packet>> queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
            g_sent += queue->GetTotalReceivedPackets();
        }
    }
    if (g_completed != g_flows.size())
    {
        Fail("%" PRIu64 " of %zu flows completed", g_completed, g_flows.size());
    }
    WriteCompletions(outPath);

    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"engine\":\"ns-%s\",\"packet_hops\":%" PRIu64
                ",\"cpu_s\":%.6f,\"packet_hops_per_cpu_s\":%.0f,\"peak_rss_kb\":%ld,\"flows\":%zu,"
                "\"packets\":%" PRIu64 ",\"stack\":\"%s\"}\n",
                PEER_NS3_VERSION,
                hops,
                cpu,
                static_cast<double>(hops) / cpu,
                usage.ru_maxrss,
                g_flows.size(),
                g_sent,
                stack.c_str());

    g_hostStacks.clear();
    g_ports.clear();
    g_nodes = NodeContainer();
    Simulator::Destroy();
    return 0;
}

} // namespace

int
main(int argc, char** argv)
{
    return Main(argc, argv);
}
