export type Report = (rule: string, at: number, message: string) => void;
